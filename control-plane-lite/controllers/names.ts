/** Names of the controllers, and the selection by `--controllers`. Pure. Source: upstream's controller
 *  manager, release 1.24. */
import { CONTROLLERS } from './table.ts';

/** In output order. Only the controllers that this server implements. */
export const CONTROLLER_NAMES: readonly string[] = CONTROLLERS.map(({ name }) => name);

const EVERY = '*';

/** Reports whether the list selects a controller: the first match of its name, or of its name after a minus,
 *  decides; else `*`. */
function isChosen(values: readonly string[], name: string): boolean {
  const own = values.find((value) => value === name || value === `-${name}`);
  return own === undefined ? values.includes(EVERY) : own === name;
}

/** The controllers that `--controllers` selects: `*`, `name`, `-name`. */
export const chooseControllers = (values: readonly string[]): ReadonlySet<string> =>
  new Set(CONTROLLER_NAMES.filter((name) => isChosen(values, name)));

/** Elements that name no controller. */
export function unknownControllers(values: readonly string[]): readonly string[] {
  const names = new Set<string>(CONTROLLER_NAMES);
  return values.filter(
    (value) => value !== EVERY && !names.has(value.startsWith('-') ? value.slice(1) : value),
  );
}
