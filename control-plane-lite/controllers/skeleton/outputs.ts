/** Written fields of the controllers, and the fields that several of them write. Pure. */
import { type Controller, type KindWrites, SUBRESOURCES } from './declaration.ts';
import { displayKind, type KindName } from './kinds.ts';
import { writesOf } from './run.ts';

export const EVERY_KIND = 'every kind';

/** Returns the field paths that a controller changes in a kind. */
const fieldsOf = (writes: KindWrites): readonly string[] => [
  ...(writes.update ?? []),
  ...SUBRESOURCES.flatMap((subresource) => writes[subresource] ?? []),
];

const isWithin = (path: string, other: string): boolean => path === other || path.startsWith(`${other}.`);

interface WrittenField {
  readonly kind: KindName | typeof EVERY_KIND;
  readonly path: string;
  readonly controller: string;
}

const overlap = (left: WrittenField, right: WrittenField): boolean =>
  (left.kind === right.kind || left.kind === EVERY_KIND || right.kind === EVERY_KIND) &&
  (isWithin(left.path, right.path) || isWithin(right.path, left.path));

function writtenFields(controller: Controller): readonly WrittenField[] {
  const every = controller.everyKind?.writes;
  const entries: readonly (readonly [WrittenField['kind'], KindWrites])[] = [
    ...writesOf(controller),
    ...(every === undefined ? [] : [[EVERY_KIND, every] as const]),
  ];
  return entries.flatMap(([kind, writes]) =>
    fieldsOf(writes).map((path) => ({ kind, path, controller: controller.name })),
  );
}

/** Returns the fields that two or more controllers declare, such as `pods metadata.ownerReferences`, with the
 *  names of the controllers. A controller of every kind appears with the kinds that others write. */
export function fieldsWithSeveralWriters(
  controllers: readonly Controller[],
): ReadonlyMap<string, readonly string[]> {
  const written = controllers.flatMap(writtenFields);
  const shared = new Map<string, readonly string[]>();
  for (const field of written) {
    if (field.kind === EVERY_KIND) continue;
    const writers = written.filter((other) => overlap(field, other)).map(({ controller }) => controller);
    const names = [...new Set(writers)].toSorted();
    if (names.length > 1) shared.set(`${displayKind(field.kind)} ${field.path}`, names);
  }
  return shared;
}
