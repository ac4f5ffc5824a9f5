// What a thread's page runs after app.js, in this order; browsers get it in one piece.
import "./thread.js";
import "./composer.js";
import "./drafts.js";
import "./presence.js";
import "./attach.js";
import "./attach-composer.js";
import "./pictures.js";
import "./slash.js";
import "./run-dialog.js";
import "./asks.js";
