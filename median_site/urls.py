"""Every path of the installation."""

from django.urls import include, path

from median_site.dashboard import account

urlpatterns = [
    path("", include("median_site.shell_urls")),
    path("", include("median_site.dashboard.screens")),
    path("inbox/", include("median_site.dashboard.urls")),
    path("approvals/", include("approvals.urls")),
    path("agent/tools/", include("tools.urls")),
    path("me/theme", account.theme, name="theme"),
    path("accounts/", include("allauth.urls")),
    path("widget/", include("conversations.channels.widget_urls")),
]

handler404 = "median_site.lib.errors.page_not_found"
handler500 = "median_site.lib.errors.server_error"
