import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { commandPath, containerOf, logPath, portForwardPath } from './pod-requests.ts';

const one: Pod = { metadata: { namespace: 'ns', name: 'web' }, spec: { containers: [{ name: 'app' }] } };
const many: Pod = {
  metadata: { namespace: 'ns', name: 'web' },
  spec: {
    containers: [{ name: 'app' }, { name: 'side' }],
    initContainers: [{ name: 'init' }],
    ephemeralContainers: [{ name: 'shell' }],
  },
};
const query = (text: string): URLSearchParams => new URLSearchParams(text);

describe('containerOf', () => {
  test.each([
    ['the only one', one, '', 'app'],
    ['one by name', many, 'side', 'side'],
    ['an init container', many, 'init', 'init'],
    ['an ephemeral container', many, 'shell', 'shell'],
  ])('finds %s', (_, pod, wanted, expected) => {
    expect(containerOf(pod, wanted)).toBe(expected);
  });

  test.each([
    [
      many,
      '',
      'a container name must be specified for pod web, choose one of: [app side] or one of the init containers: [init]',
    ],
    [one, 'x', 'container x is not valid for pod web'],
  ])('refuses', (pod, wanted, message) => {
    expect(() => containerOf(pod, wanted)).toThrow(new StatusError('BadRequest', message));
  });
});

describe('commandPath', () => {
  test.each([
    ['command=ls&command=-l&stdout=true', '/exec/ns/web/app?output=1&command=ls&command=-l'],
    ['command=sh&stdin=1&stdout=1&stderr=1', '/exec/ns/web/app?input=1&output=1&error=1&command=sh'],
    // A terminal has one output.
    ['command=sh&stdin&stdout&stderr&tty', '/exec/ns/web/app?input=1&output=1&tty=1&command=sh'],
    ['command=sh&stdin=false&stdout=0&stderr=TRUE', '/exec/ns/web/app?error=1&command=sh'],
    ['command=a%20b%26c&stdout=1', '/exec/ns/web/app?output=1&command=a+b%26c'],
  ])('%s', (text, expected) => {
    expect(commandPath('exec', one, query(text))).toBe(expected);
  });

  test('attaches without a command', () => {
    const path = commandPath('attach', many, query('container=side&stdout=1&command=x'));
    expect(path).toBe('/attach/ns/web/side?output=1');
  });
});

describe('portForwardPath', () => {
  test.each([
    ['', '/portForward/ns/web'],
    ['ports=80', '/portForward/ns/web?port=80'],
    ['ports=80&ports=81,82', '/portForward/ns/web?port=80%2C81%2C82'],
  ])('%s', (text, expected) => {
    expect(portForwardPath(one, query(text))).toBe(expected);
  });

  test('rejects an invalid port', () => {
    expect(() => portForwardPath(one, query('ports=0'))).toThrow('"0" is not a port');
  });
});

describe('logPath', () => {
  test.each([
    ['', '/containerLogs/ns/web/app'],
    ['follow=true&previous&timestamps=0', '/containerLogs/ns/web/app?follow=true&previous=true'],
    ['tailLines=0&limitBytes=9', '/containerLogs/ns/web/app?tailLines=0&limitBytes=9'],
    ['sinceTime=2024-01-02T03:04:05Z', '/containerLogs/ns/web/app?sinceTime=2024-01-02T03%3A04%3A05Z'],
    ['container=app&pretty=true', '/containerLogs/ns/web/app'],
  ])('%s', (text, expected) => {
    expect(logPath(one, query(text))).toBe(expected);
  });

  test.each([
    ['tailLines=-1', 'Invalid', 'tailLines: Invalid value: -1: must be greater than or equal to 0'],
    ['limitBytes=0', 'Invalid', 'limitBytes: Invalid value: 0: must be greater than 0'],
    ['sinceSeconds=0', 'Invalid', 'sinceSeconds: Invalid value: 0: must be greater than 0'],
    ['sinceSeconds=1&sinceTime=2024-01-02T03:04:05Z', 'Invalid', 'at most one of'],
    ['tailLines=x', 'BadRequest', 'tailLines: "x" is not a whole number'],
    ['sinceTime=yesterday', 'BadRequest', 'is not an RFC 3339 time'],
  ])('rejects %s', (text, reason, message) => {
    let thrown: unknown;
    try {
      logPath(one, query(text));
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ reason, message: expect.stringContaining(message) as string });
  });
});
