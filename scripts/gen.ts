/** Writes every generated source file from the tables.
 *  `node scripts/gen.ts` writes; `--check` only compares and fails on a difference. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { renderCliReference } from '#agent/cli/reference.ts';
import { renderServerFlagsPage } from '#plane/config/docs.ts';
import { renderControllersPage } from '#plane/controllers/docs.ts';
import { renderVolumesPage } from '#volumes/sources/docs.ts';
import { readArguments } from './arguments.ts';
import { type AgentConfigFacts, renderAgentConfig } from './gen/agent-config.ts';
import { type PackageFact, renderApiPackage } from './gen/api-types.ts';
import type { GeneratedFile } from './gen/file.ts';
import { type ProtoPackage, renderProtoPackage } from './gen/protos.ts';
import { renderLayersPage } from './layers.ts';

const root = join(import.meta.dirname, '..');

const readJson = (path: string): unknown => JSON.parse(readFileSync(join(root, path), 'utf8'));

function apiTypeFiles(): GeneratedFile[] {
  const dataDir = 'api-machinery/schema/data/api-types';
  return readdirSync(join(root, dataDir))
    .sort()
    .map((file) => renderApiPackage(readJson(`${dataDir}/${file}`) as PackageFact));
}

function protoFiles(): GeneratedFile[] {
  const cri = 'cri-proto/data/cri-v1.json';
  const files = [renderProtoPackage(readJson(cri) as ProtoPackage, cri, 'cri-proto/gen/cri-v1.ts')];
  const node = 'cri-proto/data/node-protos.json';
  for (const [name, pkg] of Object.entries(readJson(node) as Record<string, ProtoPackage>)) {
    if (name.startsWith('$')) continue;
    files.push(renderProtoPackage(pkg, node, `cri-proto/gen/${name.replace('/', '-')}.ts`));
  }
  return files;
}

function agentConfigFiles(): readonly GeneratedFile[] {
  const { flags } = readJson('agent/config/data/nodeagent-flags.json') as Pick<AgentConfigFacts, 'flags'>;
  const { fields } = readJson('agent/config/data/nodeagent-config.json') as Pick<AgentConfigFacts, 'fields'>;
  const { gates } = readJson('api-machinery/schema/data/feature-gates.json') as Pick<
    AgentConfigFacts,
    'gates'
  >;
  return renderAgentConfig({ flags, fields, gates });
}

/** Returns the file that declares a controller, below the folder of the controllers. */
function controllerFile(name: string): string {
  const dir = join(root, 'control-plane-lite/controllers');
  const files = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  );
  const declaration = `defineController({\n  name: '${name}',`;
  const found = files.find((file) => readFileSync(join(dir, file), 'utf8').includes(declaration));
  if (found === undefined) throw new Error(`no file declares the controller ${name}`);
  return found;
}

const pages = async (): Promise<readonly GeneratedFile[]> => [
  { path: 'docs/cli.md', text: await renderCliReference() },
  { path: 'docs/server-flags.md', text: renderServerFlagsPage() },
  { path: 'docs/volumes.md', text: renderVolumesPage() },
  { path: 'docs/layers.md', text: renderLayersPage() },
  { path: 'docs/controllers.md', text: renderControllersPage(controllerFile) },
];

const USAGE = `npm run gen [-- --check]

Writes every generated source file from the tables.
  --check   compare only; fail if a file is out of date
`;

async function main(): Promise<void> {
  const { values } = readArguments('gen', USAGE, () =>
    parseArgs({ options: { check: { type: 'boolean' } } }),
  );
  const stale: string[] = [];
  for (const file of [...apiTypeFiles(), ...protoFiles(), ...agentConfigFiles(), ...(await pages())]) {
    const target = join(root, file.path);
    if (values.check === true) {
      if (!existsSync(target) || readFileSync(target, 'utf8') !== file.text) stale.push(file.path);
      continue;
    }
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, file.text);
  }
  if (stale.length > 0) {
    console.error(`Out of date, run \`npm run gen\`:\n${stale.join('\n')}`);
    process.exitCode = 1;
  }
}

await main();
