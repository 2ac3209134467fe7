from allauth.socialaccount.models import SocialAccount
from django.http import JsonResponse
from django.urls import include, path


def user(request):
    if not request.user.is_authenticated:
        return JsonResponse({})
    account = SocialAccount.objects.get(user=request.user)
    return JsonResponse({"sub": account.uid, "email": request.user.email})


urlpatterns = [path("", user), path("accounts/", include("allauth.urls"))]
