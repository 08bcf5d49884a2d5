/** Connection to the system bus. Knows no service. */
import { connectDBus, type DBusConnection } from './connection.ts';
import type { DBusMessage } from './message.ts';

export const SYSTEM_BUS = '/run/dbus/system_bus_socket';

export interface SystemBus extends Pick<DBusConnection, 'call' | 'closed' | 'close'> {
  /** Calls the listener with matching signals. @throws DBusError */
  listen(rule: string, listener: (message: DBusMessage) => void): Promise<void>;
}

const BUS = {
  destination: 'org.freedesktop.DBus',
  path: '/org/freedesktop/DBus',
  interface: 'org.freedesktop.DBus',
};

/** Returns the first socket path in DBUS_SYSTEM_BUS_ADDRESS; the default path where it contains none. */
export function systemBusPath(addresses: string | undefined): string {
  const paths = (addresses ?? '')
    .split(';')
    .map((address) => /^unix:(?:.*,)?path=([^,]+)/.exec(address)?.[1]);
  return paths.find((path) => path !== undefined) ?? SYSTEM_BUS;
}

/** @throws DBusError */
export async function connectBus(
  path: string = systemBusPath(process.env['DBUS_SYSTEM_BUS_ADDRESS']),
): Promise<SystemBus> {
  const { call, onSignal, closed, close } = await connectDBus(path);
  await call({ ...BUS, member: 'Hello' });
  return {
    call,
    closed,
    close,
    async listen(rule, listener) {
      onSignal(listener);
      await call({ ...BUS, member: 'AddMatch', signature: 's', body: [rule] });
    },
  };
}
