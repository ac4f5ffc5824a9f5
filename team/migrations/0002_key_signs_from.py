"""A signing key is published before it signs."""

from django.db import migrations, models

from median_site.lib import clock


class Migration(migrations.Migration):
    dependencies = [("team", "0001_first")]

    operations = [migrations.AddField("signingkey", "signs_from", models.DateTimeField(default=clock.now))]
