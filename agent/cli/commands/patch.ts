/** `nodeagent patch` */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseJsonText } from '#api/codec/json-text.ts';
import { parseYaml } from '#api/codec/yaml.ts';
import { type Arguments, parseChoice } from '../args/arguments.ts';
import { type Command, type CommandContext, defineCommand } from '../command.ts';
import { CommandError, UsageError } from '../errors.ts';
import { findApplied } from '../manifests/applied.ts';
import { applyText } from '../manifests/apply-text.ts';
import { jsonPatch, mergePatch } from '../manifests/merge-patch.ts';
import { namedTargets } from './delete-targets.ts';

const options = {
  patch: { type: 'string', short: 'p', value: 'PATCH', help: 'the patch, as JSON or YAML' },
  'patch-file': { type: 'string', value: 'FILE', help: 'file with the patch' },
  type: { type: 'string', value: 'TYPE', help: 'merge (RFC 7386) or json (RFC 6902); merge by default' },
  namespace: { type: 'string', short: 'n', value: 'NAME', help: 'namespace of the object (default)' },
  'dry-run': { type: 'string', value: 'MODE', help: 'server: let the agent check, without changes' },
} as const;

export const command: Command = defineCommand({
  name: 'patch',
  summary: 'Changes fields of an applied object. A merge patch replaces lists as a whole.',
  usage: ['TYPE NAME -p PATCH [options]', 'TYPE/NAME -p PATCH [options]'],
  options,
  examples: [
    [`patch configmap app -p '{"data":{"level":"debug"}}'`, 'set a key'],
    [
      `patch pod web --type json -p '[{"op":"replace","path":"/spec/containers/0/image","value":"web:2"}]'`,
      'change one item of a list',
    ],
  ],
  async run(args, context) {
    const [target, ...others] = namedTargets(args.positionals, args.text('namespace'));
    if (target === undefined || others.length > 0) throw new UsageError('patch requires one object');
    if (target.kind === 'Secret') {
      throw new CommandError(
        'a Secret cannot be patched, since its content is not exposed: apply its manifest',
      );
    }
    const type = parseChoice('--type', args.text('type') ?? 'merge', ['merge', 'json']);
    const dryRun = parseChoice('--dry-run', args.text('dry-run') ?? 'none', ['none', 'server']);
    const patch = await readPatch(args, context);
    const { manifest } = await findApplied(context.api, target, context.signal);
    const patched = type === 'merge' ? mergePatch(manifest, patch) : jsonPatch(manifest, patch);
    const text = { name: 'patched object', text: JSON.stringify(patched) };
    const { allGood } = await applyText(text, dryRun === 'server' ? 'server' : 'apply', context);
    return allGood ? 0 : 1;
  },
});

/** @throws UsageError, CommandError */
async function readPatch(args: Arguments<keyof typeof options>, { cwd }: CommandContext): Promise<unknown> {
  const [text, file] = [args.text('patch'), args.text('patch-file')];
  if ((text === undefined) === (file === undefined)) {
    throw new UsageError('patch requires either -p PATCH or --patch-file FILE');
  }
  return parsePatch(text ?? (await readText(resolve(cwd, file ?? ''))));
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new CommandError(`cannot read ${path}`, { cause });
  }
}

function parsePatch(text: string): unknown {
  if (/^\s*[[{]/.test(text)) {
    try {
      return parseJsonText(text);
    } catch (cause) {
      throw new CommandError('the patch is not valid JSON', { cause });
    }
  }
  const [document, ...more] = parseYaml(text);
  const [error] = document?.errors ?? [];
  if (document === undefined || more.length > 0 || error !== undefined) {
    throw new CommandError(
      `the patch is not a YAML document${error === undefined ? '' : `: ${error.detail}`}`,
    );
  }
  return document.value;
}
