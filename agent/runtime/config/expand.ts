/** `$(VAR)` references in commands, arguments, environment values and subPathExpr. Pure.
 *  `$$` stands for one `$`, so `$$(VAR)` is the text `$(VAR)`; a `$` before anything else is itself.
 *  Source: upstream's dependent environment variables. */

/** Finds the value of a variable; `undefined` when there is none of that name. */
export type VariableLookup = (name: string) => string | undefined;

const REFERENCE = /\$\$|\$\(([^)]*)\)/g;

/** The text with every reference replaced; a reference to an unknown variable stays as it is. */
export function expandVariables(text: string, lookup: VariableLookup): string {
  if (!text.includes('$')) return text;
  return text.replaceAll(REFERENCE, (found: string, name: string | undefined) =>
    name === undefined ? '$' : (lookup(name) ?? found),
  );
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
