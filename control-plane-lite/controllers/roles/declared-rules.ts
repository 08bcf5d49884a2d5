/** Rules that the declaration of a controller requires, in the neutral vocabulary. Pure. */
import type { PolicyRule } from '#api/gen/rbac-authorization-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { type Controller, type KindWrites, SUBRESOURCES } from '../skeleton/declaration.ts';
import { groupOfKind, type KindName } from '../skeleton/kinds.ts';
import { EVENTS_RULE, grantsOn } from './grants.ts';

function writeRules(group: string, resource: string, writes: KindWrites): readonly PolicyRule[] {
  const { create = false, delete: deletes = false, update = [] } = writes;
  const verbs = [
    ...(create ? ['create'] : []),
    ...(deletes ? ['delete'] : []),
    ...(update.length === 0 ? [] : ['update']),
  ];
  const subresources = SUBRESOURCES.filter((name) => writes[name] !== undefined);
  const grant = grantsOn(group);
  return [
    ...(verbs.length === 0 ? [] : [grant(verbs.join(' '), resource)]),
    ...subresources.map((name) => grant('update', `${resource}/${name}`)),
  ];
}

/** Returns the rules for its watched and written kinds and for its Events. Reads of every kind are not included: their
 *  reason is in the declaration, their extent is not. */
export function declaredRules({
  watches,
  writes,
  everyKind,
  recordsEvents,
}: Controller): readonly PolicyRule[] {
  const groupOf = (kind: KindName): string => groupOfKind(kind, VOCABULARIES.plat);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of the record are names of kinds
  const written = Object.entries(writes) as [KindName, KindWrites][];
  return [
    ...watches.map((kind) => grantsOn(groupOf(kind))('get list watch', kind)),
    ...written.flatMap(([kind, kindWrites]) => writeRules(groupOf(kind), kind, kindWrites)),
    ...(everyKind?.writes === undefined ? [] : writeRules('*', '*', everyKind.writes)),
    ...(recordsEvents === true ? [EVENTS_RULE] : []),
  ];
}
