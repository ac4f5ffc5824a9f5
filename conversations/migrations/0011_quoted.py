from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("conversations", "0010_widget_use")]

    operations = [
        migrations.AddField(
            model_name="item", name="quoted", field=models.TextField(blank=True, db_default="", default="")
        ),
    ]
