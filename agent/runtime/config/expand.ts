/** `$(VAR)` references in commands, arguments, environment values and subPathExpr. Pure.
 *  `$$` stands for one `$`, so `$$(VAR)` is the text `$(VAR)`; a `$` before anything else is itself.
 *  Source: upstream's dependent environment variables. */

/** Finds the value of a variable; `undefined` when there is none of that name. */
export type VariableLookup = (name: string) => string | undefined;

/** The text with every reference replaced; a reference to an unknown variable stays as it is, and so does one without
 *  an end. Takes one pass, however many references have no end. */
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

/** As `expandVariables`, together with the names that no variable has. */
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
