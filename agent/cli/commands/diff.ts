/** `nodeagent diff` */
import { formatYaml } from '#api/codec/yaml.ts';
import { asError } from '#api/kit/errno.ts';
import { isObject } from '#api/kit/object.ts';
import { type Command, type CommandContext, defineCommand } from '../command.ts';
import { CommandError, ExitError, UsageError } from '../errors.ts';
import { fetchApplied } from '../manifests/applied.ts';
import { unifiedDiff } from '../manifests/line-diff.ts';
import { type ManifestObject, nameKey, readObjects, vocabularyOf } from '../manifests/objects.ts';
import { MANIFEST_OPTIONS, type ManifestSelection, readManifests, selectionOf } from '../manifests/read.ts';
import { createPainter, type Painter } from '../output/colors.ts';
import { printable } from '../views/table.ts';

const DIFFERENT = 1;
const FAILED = 2;

export const command: Command = defineCommand({
  name: 'diff',
  summary:
    'Shows what apply would change. Exits with 0 without differences, with 1 if there are some, with 2 on failure.',
  usage: ['-f FILE|DIRECTORY|URL|- [options]'],
  options: MANIFEST_OPTIONS,
  examples: [['diff -f web.yaml', 'compare a manifest with the applied one']],
  async run(args, context) {
    const selection = selectionOf(args, args.positionals);
    if (args.texts('filename').length === 0) throw new UsageError('diff needs -f FILE');
    try {
      return (await printDifferences(selection, context)) ? DIFFERENT : 0;
    } catch (thrown) {
      if (thrown instanceof UsageError || context.signal.aborted) throw thrown;
      throw new ExitError(FAILED, asError(thrown));
    }
  },
});

async function printDifferences(selection: ManifestSelection, context: CommandContext): Promise<boolean> {
  const { api, signal, clock, out } = context;
  const applied = new Map(
    (await fetchApplied(api, signal)).map(({ name, manifest }) => [nameKey(name), manifest]),
  );
  const painter = createPainter(context);
  let isDifferent = false;
  for await (const manifest of readManifests(selection, context)) {
    for (const object of await readObjects(manifest, vocabularyOf(undefined), {
      signal,
      nowMs: clock.now(),
    })) {
      const text = differenceOf(object, applied);
      if (text === '') continue;
      isDifferent = true;
      await out.write(paint(text, painter));
    }
  }
  return isDifferent;
}

/** @throws CommandError for an object without a name */
function differenceOf(
  { place, name, manifest }: ManifestObject,
  applied: ReadonlyMap<string, Readonly<Record<string, unknown>>>,
): string {
  if (name === undefined) throw new CommandError(`${place}: identifies no object`);
  const before = applied.get(nameKey(name));
  const left = before === undefined ? '' : formatYaml(before);
  const right = formatYaml(
    maskSecret({ apiVersion: 'v1', kind: name.kind, ...(isObject(manifest) ? manifest : {}) }),
  );
  const text = unifiedDiff(left, right);
  return text === '' ? '' : `--- applied ${printable(nameKey(name))}\n+++ ${printable(place)}\n${text}`;
}

/** Values of a Secret are not shown; the agent masks those of the applied one in the same way. */
function maskSecret(manifest: Readonly<Record<string, unknown>>): unknown {
  if (manifest['kind'] !== 'Secret') return manifest;
  return Object.fromEntries(
    Object.entries(manifest).map(([key, value]) => {
      const isData = (key === 'data' || key === 'stringData') && isObject(value);
      return [key, isData ? Object.fromEntries(Object.keys(value).map((name) => [name, '***'])) : value];
    }),
  );
}

function paint(text: string, { green, red, cyan }: Painter): string {
  return text.replaceAll(/^.*$/gm, (line) => {
    const shown = printable(line);
    if (line.startsWith('@@')) return cyan(shown);
    if (line.startsWith('+')) return green(shown);
    return line.startsWith('-') ? red(shown) : shown;
  });
}
