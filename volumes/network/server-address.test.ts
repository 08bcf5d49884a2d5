import { describe, expect, it, test } from 'vitest';
import { checkServerPath, formatServer, formatServerWithPort } from './server-address.ts';

describe('formatServer', () => {
  test.each([
    ['nfs.example.com', 'nfs.example.com'],
    ['10.0.0.1', '10.0.0.1'],
    ['fd00::1', '[fd00::1]'],
    ['[fd00::1]', '[fd00::1]'],
    ['fe80::1%eth0', '[fe80::1%eth0]'],
  ])('%s', (server, formatted) => {
    expect(formatServer('nfs.server', server)).toBe(formatted);
  });

  it.each(['', '-oProxy', '--help', 'a b', 'a,b', 'a:b', 'a/b', 'fe80::1%a b', '[x]', 'a\n'])(
    'rejects %j',
    (server) => {
      expect(() => formatServer('nfs.server', server)).toThrow('nfs.server');
    },
  );
});

describe('formatServerWithPort', () => {
  test.each([
    ['10.0.0.1:6789', '10.0.0.1:6789'],
    ['10.0.0.1', '10.0.0.1'],
    ['mon.example.com:3300', 'mon.example.com:3300'],
    ['fd00::1', '[fd00::1]'],
    ['[fd00::1]:6789', '[fd00::1]:6789'],
  ])('%s', (text, formatted) => {
    expect(formatServerWithPort('cephfs.monitors', text)).toBe(formatted);
  });

  it.each(['mon:0', 'mon:70000', 'mon:', ':6789', '-x:1', 'a,b:1'])('rejects %j', (text) => {
    expect(() => formatServerWithPort('cephfs.monitors', text)).toThrow('cephfs.monitors');
  });
});

describe('checkServerPath', () => {
  it('accepts absolute paths', () => {
    expect(checkServerPath('nfs.path', '/export/a b')).toBe('/export/a b');
  });

  it.each(['', 'export', '/export/../etc', '/..', '/a\nb'])('rejects %j', (path) => {
    expect(() => checkServerPath('nfs.path', path)).toThrow('nfs.path');
  });
});
