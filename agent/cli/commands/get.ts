/** `nodeagent get` */

import type { Pod } from '#api/gen/core-v1.ts';
import { isObject } from '#api/kit/object.ts';
import { type Arguments, parseChoice } from '../args/arguments.ts';
import { parseKind } from '../args/kinds.ts';
import { fetchEvents, fetchPods, listMember, type PlainObject, textMember } from '../client/responses.ts';
import { type Command, type CommandContext, defineCommand } from '../command.ts';
import { CommandError, UsageError } from '../errors.ts';
import { EVENT_HEADINGS, eventRow } from '../views/event-rows.ts';
import { OBJECT_HEADINGS, objectRow } from '../views/object-rows.ts';
import { type PodTableOptions, podHeadings, podRow } from '../views/pod-rows.ts';
import { OBJECT_FORMATS, type ObjectFormat, printObjects, type ShownObject } from '../views/print-objects.ts';
import { formatTable } from '../views/table.ts';
import { DEFAULT_NAMESPACE, findPod, parsePodName } from './find-pod.ts';
import { watchPodTable } from './watch-pods.ts';

const options = {
  namespace: { type: 'string', short: 'n', value: 'NAME', help: 'only objects of this namespace' },
  'all-namespaces': {
    type: 'boolean',
    short: 'A',
    help: 'objects of all namespaces (the default without -n)',
  },
  output: { type: 'string', short: 'o', value: 'FORMAT', help: 'wide, json, yaml or name' },
  watch: { type: 'boolean', short: 'w', help: 'pods only: print a line for each change' },
} as const;

type GetArguments = Arguments<keyof typeof options>;

export const command: Command = defineCommand({
  name: 'get',
  summary:
    'Shows pods, events, configmaps, secrets (without their data), persistentvolumes, persistentvolumeclaims and endpoints.',
  usage: ['TYPE [NAME…] [options]', 'TYPE/NAME [options]'],
  options,
  examples: [
    ['get pod web -o yaml', 'the complete pod with its status'],
    ['get configmaps', 'the ConfigMaps available to pods'],
    ['get pods -n web -o name', 'only the names, for scripts'],
  ],
  async run(args, context) {
    const { kind, names } = wanted(args);
    const output = args.text('output');
    const format = output === undefined ? undefined : parseChoice('--output', output, OBJECT_FORMATS);
    if (args.has('watch')) return watch(kind, names, format, args, context);
    if (kind === 'Pod') return getPods(names, format, args, context);
    if (kind === 'Event') return getEvents(names, format, args, context);
    return getObjects(kind, names, format, args, context);
  },
});

/** @throws UsageError */
function wanted({ positionals }: GetArguments): { readonly kind: string; readonly names: readonly string[] } {
  const [first, ...names] = positionals;
  if (first === undefined) throw new UsageError('get requires a TYPE, such as pods');
  const slash = first.indexOf('/');
  if (slash < 0) return { kind: parseKind(first), names };
  return { kind: parseKind(first.slice(0, slash)), names: [first.slice(slash + 1), ...names] };
}

const namespaceOf = (args: GetArguments): string | undefined =>
  args.has('all-namespaces') ? undefined : args.text('namespace');

async function watch(
  kind: string,
  names: readonly string[],
  format: ObjectFormat | undefined,
  args: GetArguments,
  context: CommandContext,
): Promise<number> {
  if (kind !== 'Pod' || names.length > 0 || (format !== undefined && format !== 'wide')) {
    throw new UsageError('--watch supports only pods, without names, and -o wide');
  }
  const namespace = namespaceOf(args);
  const table: PodTableOptions = { wide: format === 'wide', withNamespace: namespace === undefined };
  await watchPodTable(
    context,
    table,
    (pod) => namespace === undefined || pod.metadata?.namespace === namespace,
  );
  return 0;
}

async function getPods(
  names: readonly string[],
  format: ObjectFormat | undefined,
  args: GetArguments,
  { api, out, clock }: CommandContext,
): Promise<number> {
  const namespace = namespaceOf(args);
  const all = await fetchPods(api);
  const pods: readonly Pod[] =
    names.length > 0
      ? names.map((name) => findPod(all, parsePodName(name, namespace)))
      : all.filter(({ metadata }) => namespace === undefined || metadata?.namespace === namespace);
  if (format !== undefined && format !== 'wide') {
    await printObjects(out, format, pods, names.length === 1);
    return 0;
  }
  const table: PodTableOptions = { wide: format === 'wide', withNamespace: namespace === undefined };
  const rows = pods.map((pod) => podRow(pod, table, clock.now()));
  await out.write(rows.length === 0 ? 'no pods\n' : formatTable(podHeadings(table), rows));
  return 0;
}

async function getEvents(
  names: readonly string[],
  format: ObjectFormat | undefined,
  args: GetArguments,
  { api, out, clock }: CommandContext,
): Promise<number> {
  const all = await fetchEvents(api, { namespace: namespaceOf(args) });
  const events = pickNamed('Event', all, names, ({ metadata }) => metadata.name ?? '');
  if (format !== undefined && format !== 'wide') {
    await printObjects(out, format, events, names.length === 1);
    return 0;
  }
  const rows = events.map((event) => eventRow(event, clock.now()));
  await out.write(rows.length === 0 ? 'no events\n' : formatTable(EVENT_HEADINGS, rows));
  return 0;
}

async function getObjects(
  kind: string,
  names: readonly string[],
  format: ObjectFormat | undefined,
  args: GetArguments,
  { api, out }: CommandContext,
): Promise<number> {
  const namespaced = kind !== 'PersistentVolume';
  const namespace =
    namespaceOf(args) ?? (names.length > 0 && !args.has('all-namespaces') ? DEFAULT_NAMESPACE : undefined);
  const ofKind = listMember(await api.json({ path: ['objects'] }), 'items')
    .filter(isObject)
    .filter((object) => textMember(object, 'kind') === kind)
    .filter(
      (object) => !namespaced || namespace === undefined || metaText(object, 'namespace') === namespace,
    );
  const objects = pickNamed(kind, ofKind, names, (object) => metaText(object, 'name'));
  if (format !== undefined && format !== 'wide') {
    await printObjects(out, format, objects.map(asShown), names.length === 1);
    return 0;
  }
  const rows = objects.map((object) => objectRow(object));
  await out.write(rows.length === 0 ? `no ${kind} objects\n` : formatTable(OBJECT_HEADINGS, rows));
  return 0;
}

function metaText(object: PlainObject, key: string): string {
  const { metadata } = object;
  return isObject(metadata) ? textMember(metadata, key) : '';
}

const asShown = (object: PlainObject): ShownObject => ({
  ...object,
  kind: textMember(object, 'kind'),
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
