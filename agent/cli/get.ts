/** `nodeagent get` */
import type { Pod } from '#api/schema/gen/core-v1.ts';
import {
  fetchEvents,
  fetchPods,
  isPlainObject,
  listMember,
  type PlainObject,
  textMember,
} from './answers.ts';
import { type Arguments, parseChoice } from './arguments.ts';
import { type Command, type CommandContext, defineCommand } from './command.ts';
import { CommandError, UsageError } from './errors.ts';
import { EVENT_HEADINGS, eventRow } from './event-rows.ts';
import { DEFAULT_NAMESPACE, findPod, parsePodName } from './find-pod.ts';
import { parseKind } from './kinds.ts';
import { OBJECT_HEADINGS, objectRow } from './object-rows.ts';
import { type PodTableOptions, podHeadings, podRow } from './pod-rows.ts';
import { OBJECT_FORMATS, type ObjectFormat, printObjects, type ShownObject } from './print-objects.ts';
import { formatTable } from './table.ts';
import { watchPodTable } from './watch-pods.ts';

const options = {
  namespace: { type: 'string', short: 'n', value: 'NAME', help: 'only of this namespace' },
  'all-namespaces': { type: 'boolean', short: 'A', help: 'of all namespaces (as without -n)' },
  output: { type: 'string', short: 'o', value: 'FORMAT', help: 'wide, json, yaml or name' },
  watch: { type: 'boolean', short: 'w', help: 'pods only: go on with a line for each change' },
} as const;

type GetArguments = Arguments<keyof typeof options>;

export const command: Command = defineCommand({
  name: 'get',
  summary:
    'Shows pods, events, configmaps, secrets (without their data), persistentvolumes, …claims and endpoints.',
  usage: ['TYPE [NAME…] [options]', 'TYPE/NAME [options]'],
  options,
  examples: [
    ['get pod web -o yaml', 'a pod whole, with its status'],
    ['get configmaps', 'the configuration objects that pods can use'],
    ['get pods -n web -o name', 'names for scripts'],
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
  if (first === undefined) throw new UsageError('get needs a TYPE, such as pods');
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
    throw new UsageError('--watch goes only with pods, without names, and -o wide');
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
    .filter(isPlainObject)
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
  return isPlainObject(metadata) ? textMember(metadata, key) : '';
}

const asShown = (object: PlainObject): ShownObject => ({
  ...object,
  kind: textMember(object, 'kind'),
  metadata: {
    ...(isPlainObject(object['metadata']) ? object['metadata'] : {}),
    name: metaText(object, 'name'),
  },
});

/** All, or those named. @throws CommandError when one is not there */
function pickNamed<T>(
  kind: string,
  objects: readonly T[],
  names: readonly string[],
  nameOf: (object: T) => string,
): readonly T[] {
  if (names.length === 0) return objects;
  return names.map((name) => {
    const found = objects.find((object) => nameOf(object) === name);
    if (found === undefined) throw new CommandError(`there is no ${kind} ${JSON.stringify(name)}`);
    return found;
  });
}
