"""What the snippet leaves out: a page for whoever is signed in, and a refresh."""

from flask import session

from app import app, oauth

redeem = oauth.signet.authorize_access_token
kept = {}


def remembered(**arguments):
    kept.update(redeem(**arguments))
    return dict(kept)


oauth.signet.authorize_access_token = remembered


@app.get("/")
def user():
    return {name: session["user"][name] for name in ("sub", "email")} if "user" in session else {}


@app.get("/refresh")
def refresh():
    before = kept["access_token"]
    kept.update(oauth.signet.fetch_access_token(grant_type="refresh_token", refresh_token=kept["refresh_token"]))
    return {"before": before, "after": kept["access_token"]}
