"""English source texts of what may be wrong with editors and passwords, by code."""

from __future__ import annotations

from app.services.marking import N_

EDITOR_TEMPLATES: dict[str, str] = {
    "password_short": N_("A password has {limit} characters or more; a few words in a row are easy to keep."),
    "password_long": N_("A password has {limit} characters at most."),
    "password_is_name": N_("A password is neither the name nor one character again and again."),
    "name_not_allowed": N_(
        "{value} cannot be a name: letters, digits, spaces and . · @ ' -, "
        "64 at most, a letter or digit first."
    ),
    "name_taken": N_("There is an editor {value} already."),
    "unknown_editor": N_("There is no editor {value}."),
}
