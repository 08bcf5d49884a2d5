/** Fetches the objects that `get` shows, with their tables. */
import { isObject, textOf } from '#api/kit/object.ts';
import type { LocalApi } from '../client/api-client.ts';
import { fetchEvents, fetchPods, listMember, type PlainObject, textMember } from '../client/responses.ts';
import { CommandError } from '../errors.ts';
import type { ShownObject } from '../output/print.ts';
import { createSelector } from '../output/select.ts';
import { sortByPath } from '../output/sort-by.ts';
import { EVENT_HEADINGS, eventRow } from '../views/event-rows.ts';
import { OBJECT_HEADINGS, objectRow } from '../views/object-rows.ts';
import { type PodTableOptions, podHeadings, podRow } from '../views/pod-rows.ts';
import { DEFAULT_NAMESPACE, findPod, parsePodName } from './find-pod.ts';
import type { ListOptions } from './options.ts';
import type { GetTarget } from './targets.ts';

export interface Listed {
  readonly kind: string;
  readonly objects: readonly ShownObject[];
  readonly headings: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** @throws UsageError, CommandError when a named object does not exist */
export function fetchListed(
  api: LocalApi,
  target: GetTarget,
  options: ListOptions,
  nowMs: number,
): Promise<Listed> {
  switch (target.kind) {
    case 'Pod':
      return listPods(api, target, options, nowMs);
    case 'Event':
      return listEvents(api, target, options, nowMs);
    default:
      return listObjects(api, target, options);
  }
}

/** Selects and sorts. Names and selectors exclude each other, as upstream. */
function arrange<T>(kind: string, objects: readonly T[], options: ListOptions): readonly T[] {
  const selected = objects.filter(createSelector(kind, options.selectors));
  return options.sortBy === undefined ? selected : sortByPath(selected, options.sortBy);
}

export const podTable = ({ format, namespace }: ListOptions): PodTableOptions => ({
  wide: format.kind === 'table' && format.wide,
  withNamespace: namespace === undefined,
});

async function listPods(
  api: LocalApi,
  { kind, names }: GetTarget,
  options: ListOptions,
  nowMs: number,
): Promise<Listed> {
  const { namespace } = options;
  const all = await fetchPods(api);
  const named =
    names.length > 0
      ? names.map((name) => findPod(all, parsePodName(name, namespace)))
      : all.filter(({ metadata }) => namespace === undefined || metadata?.namespace === namespace);
  const objects = arrange(kind, named, options);
  const table = podTable(options);
  return {
    kind,
    objects,
    headings: podHeadings(table),
    rows: objects.map((pod) => podRow(pod, table, nowMs)),
  };
}

async function listEvents(
  api: LocalApi,
  { kind, names }: GetTarget,
  options: ListOptions,
  nowMs: number,
): Promise<Listed> {
  const all = await fetchEvents(api, { namespace: options.namespace });
  const named = pickNamed(kind, all, names, ({ metadata }) => metadata.name ?? '');
  const objects = arrange(kind, named, options);
  return { kind, objects, headings: EVENT_HEADINGS, rows: objects.map((event) => eventRow(event, nowMs)) };
}

async function listObjects(api: LocalApi, { kind, names }: GetTarget, options: ListOptions): Promise<Listed> {
  const namespaced = kind !== 'PersistentVolume';
  const namespace =
    options.namespace ?? (names.length > 0 && !options.allNamespaces ? DEFAULT_NAMESPACE : undefined);
  const ofKind = listMember(await api.json({ path: ['objects'] }), 'items')
    .filter(isObject)
    .filter((object) => textMember(object, 'kind') === kind)
    .filter(
      (object) => !namespaced || namespace === undefined || metaText(object, 'namespace') === namespace,
    );
  const named = pickNamed(kind, ofKind, names, (object) => metaText(object, 'name'));
  const objects = arrange(kind, named, options);
  return { kind, objects: objects.map(asShown), headings: OBJECT_HEADINGS, rows: objects.map(objectRow) };
}

function metaText(object: PlainObject, key: string): string {
  const { metadata } = object;
  return isObject(metadata) ? textMember(metadata, key) : '';
}

const asShown = (object: PlainObject): ShownObject => ({
  ...object,
  kind: textOf(object['kind']),
  metadata: {
    ...(isObject(object['metadata']) ? object['metadata'] : {}),
    name: metaText(object, 'name'),
  },
});

/** Returns all objects, or the named ones. @throws CommandError when one does not exist */
function pickNamed<T>(
  kind: string,
  objects: readonly T[],
  names: readonly string[],
  nameOf: (object: T) => string,
): readonly T[] {
  if (names.length === 0) return objects;
  return names.map((name) => {
    const found = objects.find((object) => nameOf(object) === name);
    if (found === undefined) throw new CommandError(`${kind} ${JSON.stringify(name)} not found`);
    return found;
  });
}
