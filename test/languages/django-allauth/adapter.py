import sys

from allauth.socialaccount.adapter import DefaultSocialAccountAdapter


class Adapter(DefaultSocialAccountAdapter):
    def on_authentication_error(self, request, provider, error=None, exception=None, extra_context=None):
        """Its page does not say why a sign-in has failed."""
        print(f"{error}: {exception!r}", file=sys.stderr)
