/** All drivers, and the files that need none. */
import { AGENT_DRIVERS } from './agent-drivers.ts';
import { API_DRIVERS } from './api-drivers.ts';
import type { Driver } from './driver.ts';
import { PLANE_DRIVERS } from './plane-drivers.ts';
import { RULE_DRIVERS } from './rule-drivers.ts';

export const DRIVERS: readonly Driver[] = [
  ...API_DRIVERS,
  ...AGENT_DRIVERS,
  ...PLANE_DRIVERS,
  ...RULE_DRIVERS,
];

/** Files whose scanners read no external input, no texts, or texts of bounded length. */
export const EXCUSED: Readonly<Record<string, string>> = {
  'agent/cli/containers/tar-reader.ts': 'takes pieces of chunks from the front, each byte once',
  'agent/config/validate/reservations.ts': "the administrator's configuration; a list split at its commas",
  'agent/dbus/connection.ts': "messages of the machine's own bus, which bounds them",
  'agent/dbus/read.ts': "messages of the machine's own bus, which bounds them",
  'agent/dbus/write.ts': 'encodes calls that the agent makes',
  'agent/logs/tail-offset.ts': 'blocks of 64 KiB, of whose lines at most 128 bytes are inspected',
  'agent/logs/tail.ts': 'at most 128 KiB, split at line ends',
  'agent/runtime/docker/client/lines.ts': "documents of the machine's docker, each of bounded length",
  'agent/runtime/docker/streaming/demux.ts':
    'skips pieces by their length; reads only the eight bytes before each',
  'agent/runtime/managed/tar.ts': 'paths of the own images and packages',
  'agent/server/node/stats/cadvisor-data.ts': 'the text of a device in sysfs, a few lines',
  'api-machinery/pki/certificate.ts': 'writes the bits of a key usage',
  'api-machinery/schema/validation/env.ts': 'members of an object, not of a text',
  'api-machinery/spdy/stream.ts': 'cuts what is sent into pieces of a fixed size',
  'control-plane-lite/cache/state/history.ts':
    'a list of changes, cut when half of it is old, and marks, one for some seconds',
  'control-plane-lite/cache/state/lru-budget.ts': 'a list of objects, cut when half of it is old',
  'control-plane-lite/cache/router.ts': 'keys of the store, made of names',
  'control-plane-lite/cache/state/unowned.ts': 'a list of changes of bounded length',
  'control-plane-lite/content/deferred-watch.ts': 'encoded events, split at line ends',
  'control-plane-lite/resources/core/service-defaults.ts': 'a list of at most two families',
  'cri-proto/streaming/websocket-command.ts': 'the first byte of a message',
  'volumes/sources/git-repo.ts': 'runs programs; `exec` is theirs',
};
