/** Benchmark rows: cost of scraping resource metrics for the API server. */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { API_ALONE } from '#plane/main.fixture.ts';
import { bundle, PLANE_ENTRIES } from '../../scripts/bundle.ts';
import { createTempDir } from '../../testing/temp.ts';
import { type HttpClient, openClient, type Reply, requestBytes } from '../plane/http-client.ts';
import { PODS_PATH, podBody, podName } from '../plane/pod.ts';
import { startPlaneProcess } from '../plane/server-process.ts';
import { cpuSeconds, residentMiB } from '../process.ts';
import type { RowOn } from '../row.ts';
import type { Measurement } from '../table.ts';
import { type SimulatedAgents, startAgents } from './agents.ts';

const NODES = 100;
const PODS_OF_A_NODE = 110;
const PODS = NODES * PODS_OF_A_NODE;
/** Two periods of scraping. */
const MEASURED_MS = 30_000;
const METRICS_PATH = `/apis/metrics.${VOCABULARIES.plat.apiGroupDomain}/v1beta1/pods`;

export interface ScrapeBench {
  readonly pid: number;
  readonly client: HttpClient;
  readonly agents: SimulatedAgents;
}

const nodeName = (index: number): string => `scraped-${index}`;
const NODE_NAMES = Array.from({ length: NODES }, (_, index) => nodeName(index));
const podsOf = (node: string): readonly string[] => {
  const first = Number(node.slice(nodeName(0).length - 1)) * PODS_OF_A_NODE;
  return Array.from({ length: PODS_OF_A_NODE }, (_, index) => podName(first + index));
};

const nodeBody = (index: number, port: number): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: nodeName(index) },
    status: {
      addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
      daemonEndpoints: { [VOCABULARIES.plat.nodeAgentEndpointMember]: { Port: port } },
    },
  });

function scrapedPod(index: number): string {
  const own = `"nodeName":"${nodeName(Math.floor(index / PODS_OF_A_NODE))}"`;
  return podBody(index).replace(/"nodeName":"[^"]*"/, own);
}

async function createAll(
  client: HttpClient,
  path: string,
  count: number,
  body: (index: number) => string,
): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const { status, body: said } = await client.send(requestBytes('POST', path, body(index)));
    if (status !== 201) throw new Error(`${path}: ${status} ${said.toString('utf8', 0, 300)}`);
  }
}

export async function setUpScrape(
  stack: AsyncDisposableStack,
  say: (line: string) => void,
): Promise<ScrapeBench> {
  const folder = stack.use(await createTempDir('na-bench-s-'));
  const program = join(folder.path, 'program');
  const dataDir = join(folder.path, 'data');
  say('bundling the API server');
  await bundle(program, PLANE_ENTRIES);
  const file = join(program, 'control-plane-lite.js');
  const server = stack.use(await startPlaneProcess({ program: file, dataDir, flags: API_ALONE }));
  const agents = stack.use(await startAgents({ dataDir, nodes: NODE_NAMES, podsOf }));
  const client = await openClient(server.target);
  stack.defer(() => client.close());
  say(`creating ${NODES} nodes with ${PODS} pods`);
  await createAll(client, '/api/v1/nodes', NODES, (index) => nodeBody(index, agents.port));
  await createAll(client, PODS_PATH, PODS, scrapedPod);
  return { pid: server.pid, client, agents };
}

/** Number of pods that have metrics. */
const measuredPods = ({ body }: Reply): number => body.toString('latin1').split('"containers":').length - 1;

async function measure({ pid, client, agents }: ScrapeBench): Promise<Measurement> {
  const timed = async (): Promise<readonly [Reply, number]> => {
    const startMs = performance.now();
    const reply = await client.send(requestBytes('GET', METRICS_PATH));
    return [reply, performance.now() - startMs];
  };
  const [first, firstMs] = await timed();
  await pause(2000);
  const [before, since, cpu] = [agents.figures(), performance.now(), await cpuSeconds(pid)];
  await pause(MEASURED_MS);
  const used = (await cpuSeconds(pid)) - cpu;
  const seconds = (performance.now() - since) / 1000;
  const after = agents.figures();
  const [last, lastMs] = await timed();
  const found = measuredPods(last);
  const detail = [
    `first list ${(firstMs / 1000).toFixed(1)} s with ${measuredPods(first)} pods`,
    `later ${lastMs.toFixed(0)} ms`,
    `${after.scrapes - before.scrapes} scrapes over ${after.connections - before.connections} connections`,
    `server ${(await residentMiB(pid)).toFixed(0)} MiB`,
  ].join(', ');
  const error = found === PODS ? undefined : `metrics of ${found} pods instead of ${PODS}`;
  return { value: (used / seconds) * 100, detail, ...(error === undefined ? {} : { error }) };
}

export const metricsScrape: RowOn<ScrapeBench> = {
  name: 'metrics-scrape',
  title: `API: scraping ${NODES} nodes with ${PODS_OF_A_NODE} pods each, CPU`,
  unit: '%',
  budget: 4,
  limits: 'value',
  measure,
};
