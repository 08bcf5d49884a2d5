/** Runs a server, and reports the files whose functions run from a create request until its watcher has the event:
 *  on the main thread and on the store's. Prints them as JSON, together with those
 *  that run without requests. A first create comes before, so that nothing counts that happens once. */
import { setTimeout as pause } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { API_ALONE, startTestPlane, type TestPlane } from '#plane/main.fixture.ts';
import { startFunctionCoverage } from '../../testing/function-coverage.ts';

const PATH = '/api/v1/namespaces/default/configmaps';

async function createAndReceive(plane: TestPlane, name: string, received: () => boolean): Promise<void> {
  await plane.call('POST', PATH, { body: { metadata: { name }, data: { a: '1' } } });
  while (!received()) await pause(5);
}

async function main(): Promise<void> {
  const coverage = await startFunctionCoverage();
  await using plane = await startTestPlane(API_ALONE);
  const watcher = new Agent({ connect: plane.credentials(), allowH2: false });
  const response = await request(`${plane.url}${PATH}?watch=1`, { dispatcher: watcher });
  let text = '';
  response.body.on('data', (chunk: Buffer) => (text += chunk.toString()));
  response.body.on('error', () => undefined);
  await createAndReceive(plane, 'first', () => text.includes('"name":"first"'));
  await pause(500);
  await coverage.take();
  await pause(500);
  const idle = await coverage.take();
  await createAndReceive(plane, 'second', () => text.includes('"name":"second"'));
  const all = await coverage.take();
  const isServer = (file: string): boolean => !/\.fixture\.ts$|^e2e\//.test(file);
  console.log(JSON.stringify({ all: [...all].filter(isServer), idle: [...idle].filter(isServer) }));
  await watcher.destroy();
}

await main();
