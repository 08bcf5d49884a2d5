/** `npm run bundle [-- --program NAME] [FOLDER]`: bundles the programs into few files, which start faster and use less memory
 *  than the sources. Lazily imported modules stay separate files. Writes `dist/` by default. */
import { existsSync } from 'node:fs';
import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Plugin, rolldown } from 'rolldown';
import { checkoutCommit } from '#api/kit/git-commit.ts';
import { readArguments } from './arguments.ts';

const REPOSITORY = resolve(import.meta.dirname, '..');

/** Programs of the bundle by file name; the agent looks up its threads under these names. */
export const BUNDLE_ENTRIES: Readonly<Record<string, string>> = {
  nodeagent: 'agent/bin.ts',
  'usage-worker': 'volumes/usage/worker.ts',
  'memory-worker': 'eviction/notify/worker.ts',
  'containerd-unit': 'agent/install/containerd-unit.ts',
};

/** Programs of the server; it looks up its threads under these names. */
export const PLANE_ENTRIES: Readonly<Record<string, string>> = {
  'control-plane-lite': 'control-plane-lite/bin.ts',
  'store-worker': 'control-plane-lite/store/embedded/worker.ts',
  'etcd-worker': 'control-plane-lite/store/etcd/worker.ts',
  'yaml-worker': 'control-plane-lite/content/yaml-worker.ts',
};

/** Data files read at run time, relative to the file that reads them. */
const DATA = [
  'api-machinery/schema/data/api-types',
  'api-machinery/schema/data/defaults.json',
  'api-machinery/schema/data/api-resources.json',
  'control-plane-lite/authz/data/bootstrap-policy.json',
];

export interface NativeParts {
  /** `process.arch` of the machine that runs the bundle. */
  readonly arch: string;
  /** Folder of node_modules with the native parts for it. */
  readonly modules: string;
}

/** A program of the bundle whose source is missing. */
class MissingEntryError extends Error {
  override readonly name = 'MissingEntryError';
  constructor(path: string) {
    super(`${path} does not exist`);
  }
}

/** Replaces `outDir` with a bundle of the programs `entries`: name → source, relative to the repository. The
 *  directory is relocatable: `node <outDir>/nodeagent.js run …`.
 *  @throws MissingEntryError */
export async function bundle(
  outDir: string,
  entries: Readonly<Record<string, string>> = BUNDLE_ENTRIES,
  native: NativeParts = { arch: process.arch, modules: join(REPOSITORY, 'node_modules') },
): Promise<void> {
  const input = Object.fromEntries(
    Object.entries(entries).map(([name, source]) => [name, join(REPOSITORY, source)]),
  );
  const missing = Object.values(input).find((path) => !existsSync(path));
  if (missing !== undefined) throw new MissingEntryError(missing);
  await rm(outDir, { recursive: true, force: true });
  await mkdir(outDir, { recursive: true });
  await writeCode(outDir, input);
  for (const path of DATA) {
    await cp(join(REPOSITORY, path), join(outDir, 'data', basename(path)), { recursive: true });
  }
  await copyKoffi(join(outDir, 'node_modules'), native);
  const gitCommit = checkoutCommit(REPOSITORY);
  await writeFile(
    join(outDir, 'package.json'),
    `${JSON.stringify({ type: 'module', private: true, gitCommit })}\n`,
  );
}

/** Loads `node:http` like `require`. An ESM import reads all its exports, and the getters among them load
 *  Node's own fetch and WebSocket: 15 MiB of resident memory that the agent does not need. */
const leanHttp: Plugin = {
  name: 'lean-http',
  resolveId: (source) => (source === 'node:http' ? '\0lean-http' : undefined),
  load: (id) =>
    id === '\0lean-http' ? "module.exports = process.getBuiltinModule('node:http');" : undefined,
};

/** Leaves out what the client of docker loads for connections over SSH and for builds of images, which the agent
 *  never uses: megabytes, and native parts that a bundle cannot contain. */
const leanDocker: Plugin = {
  name: 'lean-docker',
  resolveId: (source) =>
    source === 'ssh2' || source === '@grpc/proto-loader' ? `\0without-${source}` : undefined,
  load: (id) => (id.startsWith('\0without-') ? 'module.exports = {};' : undefined),
};

/** Escapes every non-ASCII character: a single one makes V8 store the whole file with two bytes per
 *  character. They may occur in strings, templates, patterns and names, where the escape is equivalent. */
const asciiOnly: Plugin = {
  name: 'ascii-only',
  // After the minifier, which would undo the escapes.
  generateBundle(_options, files) {
    for (const file of Object.values(files)) {
      if (file.type === 'chunk') file.code = file.code.replaceAll(/[^\0-\x7f]/g, escapeUnit);
    }
  },
};

const escapeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

async function writeCode(outDir: string, input: Readonly<Record<string, string>>): Promise<void> {
  await using build = await rolldown({
    input: { ...input },
    cwd: REPOSITORY,
    platform: 'node',
    // Has a native part that it looks up relative to itself.
    external: ['koffi'],
    plugins: [leanHttp, leanDocker, asciiOnly],
    logLevel: 'warn',
  });
  await build.write({
    dir: outDir,
    format: 'esm',
    entryFileNames: '[name].js',
    // All in one directory: data files are found relative to any of them.
    chunkFileNames: '[name]-[hash].js',
    // Removes comments but keeps names: people read stack traces.
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
  });
}

/** Copies the package with the native part and without its sources. */
async function copyKoffi(target: string, { arch, modules }: NativeParts): Promise<void> {
  const source = join(REPOSITORY, 'node_modules', 'koffi');
  for (const file of [
    'package.json',
    'LICENSE.txt',
    'index.js',
    'src/koffi/index.js',
    'src/koffi/src/static.js',
  ]) {
    await mkdir(dirname(join(target, 'koffi', file)), { recursive: true });
    await cp(join(source, file), join(target, 'koffi', file));
  }
  const native = `koffi-linux-${arch}`;
  const folder = `linux_${arch}`;
  const from = join(modules, '@koromix', native);
  const to = join(target, '@koromix', native);
  for (const file of ['package.json', 'index.js', join(folder, 'koffi.node')]) {
    await mkdir(dirname(join(to, file)), { recursive: true });
    await cp(join(from, file), join(to, file));
  }
}

const USAGE = `npm run bundle [-- [--program NAME] [FOLDER]]

Bundles the programs into few files. FOLDER is replaced; default dist.

  --program NAME    only this program: nodeagent or control-plane-lite
`;

export const PROGRAM_ENTRIES: ReadonlyMap<string, Readonly<Record<string, string>>> = new Map([
  ['nodeagent', BUNDLE_ENTRIES],
  ['control-plane-lite', PLANE_ENTRIES],
]);

interface BundleArguments {
  readonly folder: string;
  readonly entries: Readonly<Record<string, string>>;
}

function parseArguments(): BundleArguments {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { program: { type: 'string' } },
  });
  const [folder = join(REPOSITORY, 'dist'), further] = positionals;
  if (further !== undefined) throw new RangeError(`Unexpected argument '${further}'`);
  if (values.program === undefined)
    return { folder: resolve(folder), entries: { ...BUNDLE_ENTRIES, ...PLANE_ENTRIES } };
  const entries = PROGRAM_ENTRIES.get(values.program);
  if (entries === undefined) throw new RangeError(`--program: '${values.program}' is not a program`);
  return { folder: resolve(folder), entries };
}

if (import.meta.main) {
  const { folder, entries } = readArguments('bundle', USAGE, parseArguments);
  await bundle(folder, entries);
  console.log(`bundled into ${folder}`);
}
