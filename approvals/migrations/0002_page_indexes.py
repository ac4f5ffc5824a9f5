from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("approvals", "0001_first")]

    operations = [
        migrations.AddIndex(
            model_name="toolapproval",
            index=models.Index(
                condition=models.Q(("state__in", ["reviewing", "pending"])),
                fields=["workspace", "expires_at", "id"],
                name="approval_waiting",
            ),
        ),
        migrations.AddIndex(
            model_name="toolapproval",
            index=models.Index(fields=["workspace", "state", "-requested_at", "-id"], name="approval_newest_by_state"),
        ),
        migrations.AddIndex(
            model_name="toolapproval",
            index=models.Index(
                fields=["workspace", "tool_name", "-requested_at", "-id"], name="approval_newest_by_tool"
            ),
        ),
        migrations.AddIndex(
            model_name="toolapproval",
            index=models.Index(
                condition=models.Q(("decided_at__isnull", False)),
                fields=["workspace", "decided_by_kind", "decided_at"],
                include=["requested_at"],
                name="approval_decided",
            ),
        ),
    ]
