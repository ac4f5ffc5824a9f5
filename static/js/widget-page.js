// What the widget's page runs before widget.js, in this order; browsers get it in one piece.
import "./idiomorph.js";
import "./live-place.js";
import "./live.js";
import "./attach.js";
import "./pictures.js";
