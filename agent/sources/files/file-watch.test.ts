import { describe, expect, test } from 'vitest';
import { type PathChange, readRawEvent } from './file-watch.ts';

const target = { path: '/etc/agent/manifests', real: '/srv/manifests' };

describe('readRawEvent', () => {
  test.each<[string, string, string | undefined, PathChange | undefined]>([
    ['rename', 'a.yaml', '/etc/agent/manifests', { kind: 'entry', name: 'a.yaml', inPlace: false }],
    ['change', 'a.yaml', '/srv/manifests', { kind: 'entry', name: 'a.yaml', inPlace: true }],
    ['rename', 'manifests', '/srv/manifests', { kind: 'self', inPlace: false }],
    ['rename', '', '/srv/manifests', { kind: 'self', inPlace: false }],
    ['rename', 'manifests', '/etc/agent', { kind: 'self', inPlace: false }],
    ['rename', 'agent', '/etc', { kind: 'self', inPlace: false }],
    ['rename', 'srv', '/', { kind: 'self', inPlace: false }],
    ['rename', 'unrelated', '/etc/agent', undefined],
    ['change', 'manifests.log', '/etc/agent', undefined],
    ['rename', 'whatever', undefined, { kind: 'self', inPlace: false }],
  ])('%s of %s in %s', (event, name, watchedPath, expected) => {
    expect(readRawEvent(event, name, watchedPath, target)).toEqual(expected);
  });
});
