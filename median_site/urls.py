"""Every path of the installation."""

from django.conf import settings
from django.urls import include, path
from django.views.generic import RedirectView

from median_site.dashboard import account
from notifications import views as notification_views
from team import join_views

urlpatterns = [
    path("", include("median_site.shell_urls")),
    path("", include("median_site.dashboard.screens")),
    path("inbox/", include("median_site.dashboard.urls")),
    path("approvals/", include("approvals.urls")),
    path("alerts/", include("approvals.alerts.hook_urls")),
    path("agent/tools/", include("tools.urls")),
    path("agent/", include("agent.urls")),
    path("customers/", include("median_site.dashboard.customer_urls")),
    path("settings/replies/", include("median_site.dashboard.reply_urls")),
    path("attachments/", include("conversations.attachment_urls")),
    path("settings/alerts/", include("approvals.alerts.urls")),
    path("settings/webhooks/", include("webhooks.urls")),
    path("settings/widget/", include("conversations.channels.widget_settings_urls")),
    path("channels/email/", include("mail.hook_urls")),
    path("channels/discord/", include("discord.hook_urls")),
    path("settings/discord/", include("discord.urls")),
    path("settings/email/", include("mail.urls")),
    path("mail/", include("mail.reply_urls")),
    path("settings/notifications/", include("notifications.urls")),
    path("push-worker.js", notification_views.worker, name="push_worker"),
    path("settings/", include("team.urls")),
    path("join/<str:token>/", join_views.join, name="join"),
    path("me/theme", account.theme, name="theme"),
    # Pages of the package that have one of ours in their place.
    path("accounts/2fa/", RedirectView.as_view(pattern_name="team:account")),
    path("accounts/sessions/", RedirectView.as_view(pattern_name="team:account")),
    path("accounts/", include("allauth.urls")),
    path("widget/", include("conversations.channels.widget_urls")),
]

if settings.DEBUG:
    urlpatterns.append(path("preview/", include("median_site.preview.urls")))

handler400 = "median_site.lib.errors.bad_request"
handler404 = "median_site.lib.errors.page_not_found"
handler500 = "median_site.lib.errors.server_error"
