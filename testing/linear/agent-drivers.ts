/** Drivers of text readers in `agent` and `volumes`. */
import { parseWatchEvent } from '#agent/api-client/watch-events.ts';
import { parseOomKill } from '#agent/cgroups/oom/kernel-message.ts';
import { decideExecFailure } from '#agent/cli/commands/exec-failure.ts';
import { splitWords } from '#agent/cli/completion/words.ts';
import { parseHeader, parsePax } from '#agent/cli/containers/tar-header.ts';
import { parseCustomColumns } from '#agent/cli/output/custom-columns.ts';
import { parseTemplate, renderTemplate } from '#agent/cli/output/jsonpath-template.ts';
import { printable } from '#agent/cli/views/table.ts';
import { matchesRegistryKey, matchPatternError } from '#agent/images/credentials.ts';
import { parseDockerConfig } from '#agent/images/docker-config.ts';
import { parseImageReference } from '#agent/images/reference.ts';
import { parseCriLine, parseLogTime } from '#agent/logs/cri-line.ts';
import { createLogFormatter } from '#agent/logs/format.ts';
import { countCpus } from '#agent/machine/cpu-list.ts';
import { parseCpuSet } from '#agent/machine/cpu-set.ts';
import { osImageOf } from '#agent/machine/os-release.ts';
import { expandVariables } from '#agent/runtime/config/expand.ts';
import { parseResolvConf } from '#agent/runtime/config/hostname.ts';
import { parseHierarchies, placeOf } from '#agent/server/node/stats/cgroups/places.ts';
import { parseThreads } from '#agent/server/node/stats/proc.ts';
import { createApiProtobuf } from '#api/protobuf/api-protobuf.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createFrameFilter } from '#cri/server/authority/frame-filter.ts';
import { correctAuthority } from '#cri/server/authority/header-block.ts';
import { decodeHuffman } from '#cri/server/authority/huffman.ts';
import { checkPayload } from '#volumes/files/payload.ts';
import { parseDiscovered } from '#volumes/iscsi/discovery.ts';
import { parseMountInfo } from '#volumes/mount/mountinfo.ts';
import { type Driver, STRING_PUMPS } from './driver.ts';

const vocabulary = VOCABULARIES.kubernetes;
const protobuf = createApiProtobuf(vocabulary);

function tryParse(parse: () => unknown): unknown {
  try {
    return parse();
  } catch (thrown) {
    return thrown;
  }
}

export const AGENT_DRIVERS: readonly Driver[] = [
  {
    name: 'protobuf',
    covers: [
      'api-machinery/codec/protobuf/reader.ts',
      'api-machinery/codec/protobuf/writer.ts',
      'api-machinery/codec/protobuf/table.ts',
      'api-machinery/protobuf/envelope.ts',
    ],
    run(text) {
      const object = protobuf.decodeMessage('core/v1.ConfigMap', Buffer.from(text, 'latin1'));
      return protobuf.encodeMessage('core/v1.ConfigMap', object);
    },
    pumps: [
      '\u0012\u0006\u000a\u0001a\u0012\u0001b',
      '\u000a\u0000',
      '\u0080',
      '\u0012\u0000',
      '\u001a\u0000',
    ],
    fairNs: 500,
  },
  {
    name: 'failures of commands',
    covers: ['agent/cli/commands/exec-failure.ts'],
    run: decideExecFailure,
    frames: [['exec: "', '": permission denied']],
    pumps: ['exec: "0": ', 'exec a: ', 'executable file `a', '": stat ', ': '],
  },
  {
    name: 'templates of output',
    covers: ['agent/cli/output/jsonpath-template.ts'],
    run: (text) => renderTemplate(parseTemplate(text), { items: [{ a: 1 }, { a: 2 }] }),
    frames: [
      ['{"', '"}'],
      ['{range .items[*]}', '{end}'],
      ['{.', '}'],
    ],
    pumps: ['{', '}', '{.a}', '{"a"}', '{range .items[*]}', '{end}', '\\', '{range', ' '],
    fairNs: 1000,
    longest: 16_384,
  },
  {
    name: 'headers of archives',
    covers: ['agent/cli/containers/tar-header.ts'],
    run: (text) => [
      tryParse(() => parsePax(Buffer.from(text))),
      tryParse(() => parseHeader(Buffer.from(text))),
    ],
    pumps: ['11 path=ab\n', '12 size=123\n', '\0', '5 a=\n', '= ', '99999 '],
    fairNs: 600,
  },
  {
    name: 'completed lines',
    covers: ['agent/cli/completion/words.ts'],
    run: splitWords,
    pumps: [' ', 'a ', '"', "'", '\\', '" "'],
    longest: 100_000,
  },
  {
    name: 'columns of output',
    covers: ['agent/cli/output/custom-columns.ts'],
    run: parseCustomColumns,
    frames: [['A:', '']],
    pumps: ['A:.a,', '[', ']', ',', 'A:', '.a'],
    fairNs: 1000,
    longest: 16_384,
  },
  {
    name: 'kernel messages',
    covers: ['agent/cgroups/oom/kernel-message.ts'],
    run: parseOomKill,
    frames: [
      ['6,1,1,-;oom-kill:constraint=C,nodemask=n,oom_memcg=/a,task_memcg=/b,task=', ',pid=1,uid=0'],
      ['6,1,1,-;oom-kill:constraint=C,nodemask=', ''],
    ],
    pumps: [',oom_memcg=/', ',task_memcg=/', ',task=', ',pid=1,uid=0', ',global_oom'],
  },
  {
    name: 'lines of watches',
    covers: ['agent/api-client/watch-events.ts'],
    run: (text) => parseWatchEvent(`{"type":"ADDED","object":{"a":"${text}"}}`),
    pumps: STRING_PUMPS,
    fairNs: 300,
  },
  { name: 'cells for humans', covers: ['agent/cli/views/table.ts'], run: printable, fairNs: 400 },
  {
    name: 'registry patterns',
    covers: ['agent/images/credentials.ts'],
    run: (text) => [
      matchPatternError(text),
      matchesRegistryKey(text, 'aaaaaaaa.example.com/a'),
      matchesRegistryKey('*.example.com', text),
    ],
    frames: [['[', ']']],
    pumps: ['*a', '[a]', '[', '?', '\\a', '*.', 'a:1'],
    fairNs: 600,
  },
  {
    name: 'registry patterns and names',
    covers: ['agent/images/credentials.ts'],
    run: (text) => matchesRegistryKey(`${'*a'.repeat(100)}b`, text),
    pumps: ['a', 'aa.'],
    fairNs: 300,
  },
  {
    name: 'docker configuration',
    covers: [],
    run: (text) => parseDockerConfig(text, 'json', 'here'),
    frames: [
      ['{"auths":{"', '":{"auth":"YTpi"}}}'],
      ['{"auths":{"a":{"auth":"', '"}}}'],
    ],
    pumps: STRING_PUMPS,
    fairNs: 500,
  },
  {
    name: 'image references',
    covers: ['agent/images/reference.ts'],
    run: parseImageReference,
    frames: [
      ['a@sha256:', ''],
      ['a:', ''],
      ['a/', ''],
    ],
    pumps: ['a/', 'a.', 'a-', 'a:', 'a@', '1:1'],
    fairNs: 200,
  },
  {
    name: 'log lines',
    covers: ['agent/logs/cri-line.ts'],
    run: (text) => [parseCriLine(Buffer.from(text)), parseLogTime(text)],
    frames: [
      ['2026-01-01T00:00:00.', 'Z stdout F a\n'],
      ['2026-01-01T00:00:00Z stdout ', ' a\n'],
    ],
  },
  {
    name: 'logs',
    covers: ['agent/logs/format.ts'],
    run(text) {
      const formatter = createLogFormatter({});
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length; at += 65_536) formatter.feed(bytes.subarray(at, at + 65_536));
      return formatter.end();
    },
    pumps: ['2026-01-01T00:00:00Z stdout F a\n', '2026-01-01T00:00:00Z stdout P a\n', '\n'],
    fairNs: 400,
  },
  {
    name: 'lists of CPUs',
    covers: ['agent/machine/cpu-list.ts'],
    run: (text) => [countCpus(text), parseCpuSet(text)],
    pumps: ['1,', '1-2,'],
    fairNs: 500,
  },
  {
    name: 'os-release',
    covers: ['agent/machine/os-release.ts'],
    run: osImageOf,
    frames: [
      ['NAME="', '"'],
      ['NAME=', '\u0001'],
    ],
    pumps: ['A=b\n', '\\"'],
    fairNs: 500,
  },
  {
    name: 'frames and header blocks of HTTP/2 clients',
    covers: [
      'cri-proto/server/authority/frame-filter.ts',
      'cri-proto/server/authority/header-block.ts',
      'cri-proto/server/authority/huffman.ts',
    ],
    run(text) {
      const bytes = Buffer.from(text, 'latin1');
      return [correctAuthority(bytes), decodeHuffman(bytes), createFrameFilter().feed(bytes)];
    },
    pumps: [
      'A\u0003/a/',
      '@\u0001a\u0001b',
      '\u0082',
      'A\u0084abcd',
      '\0\0\u0001\u0001\u0004\0\0\0\u0001\u0082',
    ],
    longest: 16_384,
    fairNs: 2000,
  },
  {
    name: 'references to variables',
    covers: ['agent/runtime/config/expand.ts'],
    run: (text) => expandVariables(text, () => undefined),
    pumps: ['$(', '$(a)', '$$', '$(a'],
    frames: [['', ')']],
    fairNs: 300,
  },
  {
    name: 'resolv.conf',
    covers: [],
    run: parseResolvConf,
    frames: [['search ', '']],
    pumps: ['nameserver 1.2.3.4\n', 'a ', 'search a\n', 'options a:1\n'],
    fairNs: 1000,
  },
  {
    name: 'cgroup places',
    covers: ['agent/server/node/stats/cgroups/places.ts'],
    run: (text) => [placeOf(parseHierarchies(text), text), parseThreads(text)],
    pumps: ['1:cpu:/a\n', '29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n', '\\040'],
    fairNs: 1000,
  },
  {
    name: 'mount tables',
    covers: ['volumes/mount/mountinfo.ts'],
    run: parseMountInfo,
    frames: [
      ['29 23 0:26 / /a rw ', ' - ext4 /dev/a rw'],
      ['29 23 0:26 / /', ' rw - ext4 /dev/a rw'],
    ],
    pumps: ['29 23 0:26 / /a rw shared:1 - ext4 /dev/a rw\n', '\\040', 'a '],
    fairNs: 1000,
  },
  {
    name: 'discovered targets',
    covers: ['volumes/iscsi/discovery.ts'],
    run: (text) => parseDiscovered(text, 'iqn.2026-01.a:b'),
    pumps: ['1.2.3.4:3260,1 iqn.2026-01.a:b\n', 'a,', '1,1 '],
    fairNs: 1000,
  },
  {
    name: 'paths of files',
    covers: ['volumes/files/payload.ts'],
    run: (text) => checkPayload(new Map([[text, { mode: 420, data: Buffer.alloc(0) }]])),
    pumps: ['a/', './', '../', '//'],
    longest: 1024 * 1024,
    fairNs: 400,
  },
];
