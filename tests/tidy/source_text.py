"""C++ source as the rules see it: comments and literals blanked, lines kept, function bodies found."""

import re

TOKEN = re.compile(
    r"""//[^\n]*
      | /\*.*?\*/
      | R"(?P<delimiter>[^()\s\\]{0,16})\(.*?\)(?P=delimiter)"
      | "(?:\\.|[^"\\\n])*"
      | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'
    """,
    re.VERBOSE | re.DOTALL,
)
BLOCK = re.compile(r"[{};]")
TYPE_OR_NAMESPACE = re.compile(r"(?:inline\s+|typedef\s+|export\s+)*(?:class|struct|union|enum|namespace|extern)\b")


def blank(text, keep_strings=False):
    """Replaces comments and literals by spaces, so that offsets and line numbers stay."""

    def spaces(match):
        token = match.group(0)
        if keep_strings and not token.startswith("/"):
            return token
        return re.sub(r"[^\n]", " ", token)

    return TOKEN.sub(spaces, text)


def without_preprocessor(code):
    """Blanks directives and their continuation lines: their braces need not match."""
    return re.sub(r"^[ \t]*#(?:[^\n\\]|\\\n|\\)*", lambda m: re.sub(r"[^\n]", " ", m.group(0)), code, flags=re.M)


def without_templates(head):
    """Drops `template <...>`, whose parameters look like classes."""
    while (at := re.search(r"\btemplate\s*<", head)) is not None:
        depth, end = 1, at.end()
        while end < len(head) and depth > 0:
            depth += {"<": 1, ">": -1}.get(head[end], 0)
            end += 1
        head = head[: at.start()] + head[end:]
    return head.strip()


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def functions(code):
    """Yields (line, name, lines) of every function body in blanked code; a lambda is part of its function."""
    code = without_preprocessor(code)
    scopes = []  # Of (is_function, line, name).
    head_start = 0
    for match in BLOCK.finditer(code):
        at = match.start()
        if match.group(0) == "{":
            head = without_templates(code[head_start:at])
            inside_function = any(scope[0] for scope in scopes)
            is_function = not inside_function and "(" in head and not TYPE_OR_NAMESPACE.match(head)
            name = re.search(r"([\w:~]+)\s*\(", head)
            scopes.append((is_function, line_of(code, at), name.group(1) if name else "?"))
        elif match.group(0) == "}" and scopes:
            is_function, line, name = scopes.pop()
            if is_function:
                yield line, name, line_of(code, at) - line + 1
        head_start = match.end()
