import { describe, expect, test } from 'vitest';
import { type ContainerdConfig, ContainerdConfigError, renderContainerdConfig } from './config.ts';

const BASE: ContainerdConfig = {
  dataDir: '/d',
  runDir: '/r',
  socketPath: '/s.sock',
  sandboxImage: 'local/pause:1',
  runcPath: '/usr/sbin/runc',
  cniBinDir: '/usr/lib/cni',
  cniConfDir: '/n',
  restrictOomScoreAdj: false,
  systemdCgroup: false,
};

describe('renderContainerdConfig', () => {
  test.each<[string, Partial<ContainerdConfig>, string]>([
    ['folders', {}, 'root = "/d"\nstate = "/r"'],
    ['the socket', {}, '[grpc]\n  address = "/s.sock"'],
    ['the sandbox image', {}, 'sandbox_image = "local/pause:1"'],
    ['the restricted score', { restrictOomScoreAdj: true }, 'restrict_oom_score_adj = true'],
    ['the systemd driver', { systemdCgroup: true }, 'SystemdCgroup = true'],
    ['no folder outside its own for plugins', {}, 'path = "/d/opt"'],
    ['a path that needs escapes', { dataDir: '/a "b"\\c' }, 'root = "/a \\"b\\"\\\\c"'],
  ])('has %s', (_, change, expected) => {
    expect(renderContainerdConfig({ ...BASE, ...change })).toContain(expected);
  });

  test.each<[string, Partial<ContainerdConfig>]>([
    ['a relative path', { dataDir: 'd' }],
    ['a line break in a path', { runcPath: '/runc"\n[plugins]' }],
    ['a control character in the image', { sandboxImage: 'a\u0001' }],
    ['a socket path that the kernel cannot take', { socketPath: `/${'x'.repeat(106)}` }],
  ])('rejects %s', (_, change) => {
    expect(() => renderContainerdConfig({ ...BASE, ...change })).toThrow(ContainerdConfigError);
  });
});
