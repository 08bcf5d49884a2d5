import { describe, expect, test } from 'vitest';
import type { Scrape } from './points.ts';
import { sampleName } from './sample-line.ts';
import { createScrapeReader, type ScrapeLimits } from './scrape-reader.ts';

const NOW_MS = 1_700_000_000_000;
const AT = 1_699_999_999_123;

function read(text: string | readonly Buffer[], limits?: ScrapeLimits): Scrape {
  const reader = createScrapeReader(NOW_MS, limits);
  for (const chunk of typeof text === 'string' ? [Buffer.from(text)] : text) reader.write(chunk);
  return reader.end();
}

const labels = (container: string, pod = 'web', namespace = 'default'): string =>
  `{container="${container}",namespace="${namespace}",pod="${pod}"}`;

const container = (name: string, { cpu = '1.5', memory = '2048', at = ` ${AT}` } = {}): string => `
container_cpu_usage_seconds_total${labels(name)} ${cpu}${at}
container_memory_working_set_bytes${labels(name)} ${memory}${at}
container_start_time_seconds${labels(name)} 1.6e+09
`;

const NODE = `
# HELP node_cpu_usage_seconds_total [ALPHA] Cumulative cpu time consumed by the node in core-seconds
# TYPE node_cpu_usage_seconds_total counter
node_cpu_usage_seconds_total 12.25 ${AT}
node_memory_working_set_bytes 1.048576e+06 ${AT}
scrape_error 0
`;

const FIRST = { startMs: 1.6e12, atMs: AT, cpuNs: 1_500_000_000, memoryBytes: 2048 };

describe('a scrape', () => {
  test('has the node and its containers', () => {
    expect(read(`${NODE}${container('a')}${container('b')}`)).toEqual({
      node: { startMs: 0, atMs: AT, cpuNs: 12_250_000_000, memoryBytes: 1_048_576 },
      pods: new Map([
        [
          'default/web',
          new Map([
            ['a', FIRST],
            ['b', FIRST],
          ]),
        ],
      ]),
    });
  });

  test('is the same in whatever pieces it arrives, and without a line break at its end', () => {
    const bytes = Buffer.from(`${NODE}${container('ä')}`.trimEnd());
    const whole = read([bytes]);
    for (const size of [1, 2, 7, 64]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      );
      expect(read(pieces)).toEqual(whole);
    }
    expect(whole.pods.get('default/web')?.has('ä')).toBe(true);
  });

  test('has the time of its arrival where samples have none', () => {
    expect(
      read(container('a', { at: '' }))
        .pods.get('default/web')
        ?.get('a')?.atMs,
    ).toBe(NOW_MS);
  });

  test('takes labels in any order, with escapes, blanks and a comma at the end', () => {
    const line = (family: string, value: string): string =>
      `${family} { pod = "w\\"\\\\\\n" , namespace="n", container="c", } ${value}\n`;
    const scrape = read(
      `${line('container_cpu_usage_seconds_total', '1')}${line('container_memory_working_set_bytes', '2')}`,
    );
    expect([...scrape.pods.keys()]).toEqual(['n/w"\\\n']);
  });

  test.each([
    ['has used no CPU time', { cpu: '0' }],
    ['has no memory', { memory: '0' }],
    ['has a CPU time that is not a number', { cpu: 'NaN' }],
    ['has an infinite CPU time', { cpu: '+Inf' }],
    ['has a negative CPU time', { cpu: '-1' }],
    ['was measured after the last year that can be written', { at: ' 9999999999999999' }],
    ['was measured before the epoch', { at: ' -5' }],
  ])('leaves out a pod of which a container %s', (_, sample) => {
    const scrape = read(`${NODE}${container('a')}${container('b', sample)}`);
    expect(scrape.pods.size).toBe(0);
    expect(scrape.node).toBeDefined();
  });

  test('leaves out a container of which only the start is known, and its pod', () => {
    expect(read(`container_start_time_seconds${labels('a')} 5\n`).pods.size).toBe(0);
  });

  test('leaves out the node without one of its samples', () => {
    expect(read(`node_cpu_usage_seconds_total 5 ${AT}\n`).node).toBeUndefined();
  });

  test('leaves alone what other families look like', () => {
    expect(read('other{ 1 2 3 4\n{}\n\n  \nnode_cpu_usage_seconds_totals 5\n').node).toBeUndefined();
  });

  test('ignores a container without all of its labels', () => {
    expect(read('container_cpu_usage_seconds_total{pod="a"} 5\n').pods.size).toBe(0);
  });

  test.each([
    ['labels that do not end', 'container_cpu_usage_seconds_total{pod="a" 5'],
    ['a value that is none', 'node_cpu_usage_seconds_total five'],
    ['no value', 'node_cpu_usage_seconds_total '],
    ['a name of an object as its value', 'node_cpu_usage_seconds_total constructor'],
    ['a time that is none', 'node_cpu_usage_seconds_total 5 now'],
    ['more than a value and a time', 'node_cpu_usage_seconds_total 5 6 7'],
  ])('is refused with %s', (_, line) => {
    expect(() => read(`${line}\n`)).toThrow(/^sample "/);
  });

  test('is refused beyond its limits', () => {
    const limits = { bytes: 1000, lineLength: 200, containers: 2 };
    expect(() => read('x'.repeat(1001), limits)).toThrow('longer than 1000 bytes');
    expect(() => read('x'.repeat(201), limits)).toThrow('a line is longer than 200 characters');
    const many = ['a', 'b', 'c'].map((name) => `container_start_time_seconds${labels(name)} 1\n`).join('');
    expect(() => read(many, limits)).toThrow('more than 2 containers');
    expect(() => read('x\n'.repeat(500), limits)).not.toThrow();
  });
});

test.each([
  ['name 1', 'name'],
  ['name{a="b"} 1', 'name'],
  ['name\t1', 'name'],
  ['# HELP name', ''],
  ['', ''],
  [' name', ''],
  ['name', ''],
])('the name of %j', (line, name) => expect(sampleName(line)).toBe(name));
