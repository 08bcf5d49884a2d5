/** Reads the response of a node agent's `/metrics/resource` as it arrives. Holds no more of the text than one line, and
 *  refuses more than a node can have. Source: upstream's metrics server, its decoder of this endpoint. */
import { StringDecoder } from 'node:string_decoder';
import type { PodPoints, Point, Scrape } from './points.ts';
import { podKey } from './points.ts';
import { readSample, type Sample, sampleName } from './sample-line.ts';

/** A response that is not what an agent reports. */
export class ScrapeError extends Error {
  override readonly name = 'ScrapeError';
  readonly reason = 'InvalidScrape';
}

export interface ScrapeReader {
  /** @throws ScrapeError, SampleError */
  write(chunk: Buffer): void;
  /** @throws ScrapeError, SampleError */
  end(): Scrape;
}

export interface ScrapeLimits {
  readonly bytes: number;
  readonly lineLength: number;
  readonly containers: number;
}

const LIMITS: ScrapeLimits = { bytes: 16 * 1024 * 1024, lineLength: 16 * 1024, containers: 20_000 };
const NS_PER_SECOND = 1e9;
/** The end of the year 9999: no time behind it can be written. */
const LATEST_MS = 253_402_300_799_000;

type Draft = { -readonly [Member in keyof Point]: Point[Member] };

/** The part of a point that a family has, and how it is read. */
type Family = (draft: Draft, value: number, atMs: number) => void;

const cpu: Family = (draft, value, atMs) => {
  draft.cpuNs = Math.trunc(value * NS_PER_SECOND);
  draft.atMs = atMs;
};
/** CPU and memory may have been measured at different times; rates need that of the CPU. */
const memory: Family = (draft, value, atMs) => {
  draft.memoryBytes = Math.trunc(value);
  if (draft.atMs === 0) draft.atMs = atMs;
};
const start: Family = (draft, value) => {
  draft.startMs = value * 1000;
};

const NODE_FAMILIES: ReadonlyMap<string, Family> = new Map([
  ['node_cpu_usage_seconds_total', cpu],
  ['node_memory_working_set_bytes', memory],
]);
const CONTAINER_FAMILIES: ReadonlyMap<string, Family> = new Map([
  ['container_cpu_usage_seconds_total', cpu],
  ['container_memory_working_set_bytes', memory],
  ['container_start_time_seconds', start],
]);

const emptyDraft = (): Draft => ({ startMs: 0, atMs: 0, cpuNs: 0, memoryBytes: 0 });

/** Upstream's rule: nothing that runs has used no CPU time or has no memory. */
const isComplete = ({ atMs, cpuNs, memoryBytes }: Point): boolean => atMs > 0 && cpuNs > 0 && memoryBytes > 0;

/** Whether the sample can be part of a point at all. */
const isUsable = (value: number, atMs: number): boolean =>
  Number.isFinite(value) && value >= 0 && atMs > 0 && atMs <= LATEST_MS;

class Points {
  readonly #node = emptyDraft();
  readonly #pods = new Map<string, Map<string, Draft>>();
  readonly #most: number;
  #count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get node(): Draft {
    return this.#node;
  }

  container({ labels }: Sample): Draft | undefined {
    const [namespace, pod, name] = [labels.get('namespace'), labels.get('pod'), labels.get('container')];
    if (namespace === undefined || pod === undefined || name === undefined) return undefined;
    const key = podKey(namespace, pod);
    const containers = this.#pods.get(key) ?? new Map<string, Draft>();
    this.#pods.set(key, containers);
    const known = containers.get(name);
    if (known !== undefined) return known;
    this.#count += 1;
    if (this.#count > this.#most) throw new ScrapeError(`more than ${this.#most} containers are reported`);
    const draft = emptyDraft();
    containers.set(name, draft);
    return draft;
  }

  complete(): Scrape {
    const pods = new Map<string, PodPoints>();
    for (const [key, containers] of this.#pods) {
      if ([...containers.values()].every(isComplete)) pods.set(key, containers);
    }
    return { node: isComplete(this.#node) ? this.#node : undefined, pods };
  }
}

/** @param receivedMs time of samples that have none */
export function createScrapeReader(receivedMs: number, limits: ScrapeLimits = LIMITS): ScrapeReader {
  const decoder = new StringDecoder('utf8');
  const points = new Points(limits.containers);
  let rest = '';
  let bytes = 0;

  function readLine(line: string): void {
    const name = sampleName(line);
    const ofNode = NODE_FAMILIES.get(name);
    const family = ofNode ?? CONTAINER_FAMILIES.get(name);
    if (family === undefined) return;
    const sample = readSample(line, name);
    const { value, atMs = receivedMs } = sample;
    const draft = ofNode === undefined ? points.container(sample) : points.node;
    if (draft !== undefined && isUsable(value, atMs)) family(draft, value, atMs);
  }

  function readText(text: string): void {
    const end = text.lastIndexOf('\n');
    const whole = end < 0 ? '' : `${rest}${text.slice(0, end)}`;
    rest = end < 0 ? `${rest}${text}` : text.slice(end + 1);
    if (rest.length > limits.lineLength) {
      throw new ScrapeError(`a line is longer than ${limits.lineLength} characters`);
    }
    if (end >= 0) for (const line of whole.split('\n')) readLine(line);
  }

  return {
    write(chunk) {
      bytes += chunk.length;
      if (bytes > limits.bytes) throw new ScrapeError(`the response is longer than ${limits.bytes} bytes`);
      readText(decoder.write(chunk));
    },
    end() {
      readText(`${decoder.end()}\n`);
      return points.complete();
    },
  };
}
