/** Command and arguments with expanded `$(VAR)` references. Pure. */
import { expandVariables } from './expand.ts';

export interface ContainerCommand {
  /** Empty for the image's own. */
  readonly command: readonly string[];
  readonly args: readonly string[];
}

export function containerCommand(
  container: { readonly command?: readonly string[]; readonly args?: readonly string[] },
  env: ReadonlyMap<string, string>,
): ContainerCommand {
  const expand = (text: string): string => expandVariables(text, (name) => env.get(name));
  return {
    command: (container.command ?? []).map(expand),
    args: (container.args ?? []).map(expand),
  };
}
