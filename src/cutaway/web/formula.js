/** MathML of a rule, with the names of its operands filled in. */

const MATH = new Set(
  (
    "math mrow mi mn mo ms mtext mspace mfrac msqrt mroot msup msub msubsup " +
    "munder mover munderover mtable mtr mtd mstyle mpadded mphantom"
  ).split(" ")
);

/**
 * MathML from a trace, names filled in; only mathematics is let through.
 * @param {string} formula
 * @param {string} out
 * @param {string[]} names
 */
export function mathOf(formula, out, names) {
  if (!formula) return null;
  const filled = formula.replace(/\{(out|\d+)\}/g, (_, key) =>
    escapeXml(key === "out" ? out : (names[Number(key)] ?? "·"))
  );
  const inner = filled.replace(/^<math[^>]*>|<\/math>$/g, "");
  const text = new DOMParser().parseFromString(
    `<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">${inner}</math>`,
    "application/xml"
  );
  const clean = (/** @type {Node} */ node) => {
    if (node.nodeType === Node.TEXT_NODE) return document.createTextNode(node.textContent ?? "");
    if (!(node instanceof Element) || !MATH.has(node.localName)) return document.createTextNode("");
    const copy = document.createElementNS("http://www.w3.org/1998/Math/MathML", node.localName);
    for (const name of ["display", "stretchy", "accent", "mathvariant"])
      if (node.hasAttribute(name)) copy.setAttribute(name, node.getAttribute(name) ?? "");
    for (const child of node.childNodes) copy.append(clean(child));
    return copy;
  };
  if (text.querySelector("parsererror")) return null;
  const math = clean(text.documentElement);
  /** @type {Element} */ (math).setAttribute("translate", "no");
  return math;
}

/** @param {string} text */
function escapeXml(text) {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
}
