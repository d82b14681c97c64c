/** The sign of an operation in an equation. */

/** @type {[RegExp, string][]} */
const SYMBOLS = [
  [/softmax_backward|_backward/, "′"],
  [/\.(bmm|mm|addmm|baddbmm|matmul|linear|mv|dot|addmv)\b/, "×"],
  [/_log_softmax|log_softmax/, "log softmax"],
  [/softmax/, "softmax"],
  [/layer_norm/, "norm"],
  [/\.(add|add_)\b/, "+"],
  [/\.(sub|rsub)/, "−"],
  [/\.(mul|mul_)\b/, "⊙"],
  [/\.(div|div_)\b/, "÷"],
  [/masked_fill|where/, "mask"],
  [/embedding|index_select|gather/, "look up"],
  [/relu/, "ReLU"],
  [/gelu/, "GELU"],
  [/silu/, "SiLU"],
  [/tanh/, "tanh"],
  [/sigmoid/, "σ"],
  [/\.cat\b/, "join"],
  [/dropout|bernoulli/, "dropout"],
  [/\.sum\b/, "Σ"],
  [/\.mean\b/, "mean"],
  [/nll_loss/, "−log P"],
  [/bitwise_not|logical_not/, "not"]
];

/** @param {string} op @param {string} [rule] */
export function symbolOf(op, rule = "") {
  if (rule === "mean" || rule === "rstd") return rule;
  return (
    SYMBOLS.find(([pattern]) => pattern.test(op))?.[1] ??
    op.replace(/^aten\./, "").replace(/\.\w+$/, "")
  );
}
