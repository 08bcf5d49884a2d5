/** `$(VAR)` references in commands, arguments, environment values and subPathExpr. Pure.
 *  `$$` stands for one `$`, so `$$(VAR)` is the text `$(VAR)`; a `$` before anything else is itself.
 *  Source: upstream's dependent environment variables. */

/** Looks up the value of a variable; `undefined` for an unknown one. */
export type VariableLookup = (name: string) => string | undefined;

/** Replaces every reference in the text; references to unknown variables and unterminated ones stay as they
 *  are. Single pass, however many references are unterminated. */
export function expandVariables(text: string, lookup: VariableLookup): string {
  const lastEnd = text.lastIndexOf(')');
  let expanded = '';
  let copied = 0;
  for (let at = text.indexOf('$'); at >= 0; at = text.indexOf('$', at)) {
    const next = text.charAt(at + 1);
    if (next === '$') {
      expanded += text.slice(copied, at + 1);
      at += 2;
      copied = at;
    } else if (next === '(' && at < lastEnd) {
      const end = text.indexOf(')', at);
      const value = lookup(text.slice(at + 2, end));
      expanded += text.slice(copied, at) + (value ?? text.slice(at, end + 1));
      at = end + 1;
      copied = at;
    } else {
      at += 1;
    }
  }
  return expanded + text.slice(copied);
}

/** Like `expandVariables`, and also returns the names of unknown variables. */
export function expandStrictly(
  text: string,
  lookup: VariableLookup,
): { readonly text: string; readonly missing: readonly string[] } {
  const missing: string[] = [];
  const expanded = expandVariables(text, (name) => {
    const found = lookup(name);
    if (found === undefined) missing.push(name);
    return found;
  });
  return { text: expanded, missing };
}
