"""The page of the models in the package: one application per model, each under its own path.

`/` leads to the model into the reader's language: /en-zh/ for a browser that asks for Chinese,
else /en-fr/. Tabs on different models do not disturb each other: no state is kept between requests.
"""

from collections.abc import Sequence

from fastapi import FastAPI, Request
from fastapi.responses import RedirectResponse

from cutaway.data import PAIRS, bundled_model
from cutaway.decode import Translator
from cutaway.serve.app import LOCAL, Guard, create_app

EXAMPLES = ("Where is the station?", "I don't understand.", "The cat is sleeping.")


def box_app(*, hosts: Sequence[str] | None = (), token: str = "") -> FastAPI:
    """The application for all everyday models; `hosts` and `token` as in `create_app`."""
    app = FastAPI(title="Cutaway", docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(Guard, allowed=None if hosts is None else LOCAL | set(hosts), token=token)

    @app.get("/")
    async def first(request: Request) -> RedirectResponse:
        chinese = request.headers.get("accept-language", "").startswith("zh")
        return RedirectResponse("en-zh/" if chinese else "en-fr/", status_code=303)

    for pair in PAIRS:
        folder = bundled_model(pair)
        model = create_app(
            Translator.load(folder),
            folder=folder,
            siblings=[other for other in PAIRS if other != pair],
            examples=EXAMPLES,
            hosts=hosts,
            warm=True,
        )
        app.mount(f"/{pair}", model)
    return app
