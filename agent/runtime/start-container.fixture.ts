/** Process that starts a container as the agent does, to be killed meanwhile. Arguments: endpoint, container
 *  ID, and `leave` to disconnect without waiting for the response, or `stay` to exit with its standard input.
 *  Writes a line after it has made the call. */
import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { silentLogger } from '#api/kit/logger.ts';
import { connectRuntime } from '#cri/client/connection.ts';
import { createConnectionHolder } from './connection-holder.ts';

const [endpoint = '', containerId = '', mode = ''] = process.argv.slice(2);
const hold = createConnectionHolder(silentLogger, 10);
const { runtime, whenConnected, close } = connectRuntime({ endpoint, log: silentLogger, hold });
await whenConnected();
// The first call takes longer to leave the process.
await runtime.startContainer({ containerId: 'none' }).catch(() => undefined);
const call = runtime.startContainer({ containerId });
await setImmediate();
process.stdout.write('starting\n');
if (mode === 'leave') setTimeout(close, 5);
await call.catch(() => undefined);
if (mode === 'stay') await once(process.stdin.resume(), 'end');
close();
