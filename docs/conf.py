"""How the site is built: ``make docs``."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import pliant

os.environ["PYTHONWARNINGS"] = "ignore:IProgress not found"  # of numpyro's progress bars
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".docs-cache"))

project = "Pliant"
author = "the authors of Pliant"
version = release = pliant.__version__
html_title = f"Pliant {version}"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "mathml",
    "outside",
]
exclude_patterns = ["_ext"]
myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 4

nb_execution_mode = "cache"
nb_execution_cache_path = str(Path(__file__).parents[1] / ".docs-cache" / "pages")
nb_execution_timeout = 900
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_merge_streams = True

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "none"
autodoc_preserve_defaults = True
napoleon_use_rtype = False
add_module_names = False

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["pliant.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
copybutton_prompt_text = r"\$ "
copybutton_prompt_is_regexp = True
