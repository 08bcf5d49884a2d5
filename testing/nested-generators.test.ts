/** Generator functions inside other functions. V8 allocates a map for each closure of a generator in its old generation.
 *  The map holds the closure with the variables that it sees, so one for each request holds the request (0063). */
import { expect, test } from 'vitest';
import { files, isTest, readText, roomOf } from './imports.ts';

const SERVER_ROOMS: readonly string[] = ['api-machinery', 'control-plane-lite'];

/** How often the closure of each is created. */
const CREATED: Readonly<Record<string, string>> = {
  'api-machinery/protobuf/api-protobuf.ts decodeInSteps': 'once',
  'api-machinery/spdy/byte-queue.ts iterate': 'for each stream of an upgraded connection',
  'api-machinery/spdy/frame-reader.ts feed': 'for each upgraded connection',
  'control-plane-lite/authz/rbac.ts rules': 'once',
  'control-plane-lite/controllers/persistentvolume-binder/state.ts candidates': 'once',
  'control-plane-lite/custom/schema/custom-schema.ts decodeInSteps': 'for each definition',
  'control-plane-lite/custom/schema/custom-schema.ts planSteps': 'for each definition',
  'control-plane-lite/custom/schema/custom-schema.ts readSteps': 'for each definition',
  'control-plane-lite/custom/schema/custom-schema.ts readTrusted': 'for each definition',
  'control-plane-lite/openapi/documents.ts entries': 'for each version of the documents',
  'control-plane-lite/resources/builtin-schema.ts readInSteps': 'for each built-in kind',
  'control-plane-lite/scheduler/surroundings.ts volumesOfClass': 'once',
};

/** Methods of a class at the top level are indented by one step, and made once. */
const NESTED = /^(?: {2,}.*\bfunction\* ?(?!\/)(?<function>\w*)| {4,}(?:async )?\*(?<method>\w+)\()/gm;
const COMMENT = /^\s*(?:\* |\/\/|\/\*)/;

function nestedGenerators(source: string): string[] {
  return [...source.matchAll(NESTED)]
    .filter(([line]) => !COMMENT.test(line))
    .map(({ groups }) => groups?.['function'] ?? groups?.['method'] ?? '');
}

test('finds functions and methods, and no comments', () => {
  const source = [
    'function* top() {}',
    'export async function* other() {',
    '  const inner = function* named() {};',
    '  return {',
    '    *pure(live) {},',
    '  *method(a) {}',
    '  /** calls function* x */',
    ' * function* y',
    '}',
  ].join('\n');
  expect(nestedGenerators(source)).toEqual(['named', 'pure']);
});

test('the API server creates no generator function for each request', () => {
  const found = files
    .filter((file) => SERVER_ROOMS.includes(roomOf(file)) && !isTest(file))
    .flatMap((file) => nestedGenerators(readText(file)).map((name) => `${file} ${name}`));
  expect(found.sort()).toEqual(Object.keys(CREATED));
});
