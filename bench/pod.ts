/** The pod that is measured: one busybox container that tells when its first instruction ran. */

/** The file that a container of the pod appends to as its first act. */
export const startedFile = (outDir: string, podName: string): string => `${outDir}/${podName}`;

/** A manifest with a pod on the host's network, so that network plugins are not what is measured. */
export function podManifest(name: string, outDir: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      hostNetwork: true,
      // Process 1 ignores SIGTERM: no grace makes clean-up quick.
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: 'c',
          image: 'local/busybox:1',
          imagePullPolicy: 'IfNotPresent',
          command: ['sh', '-c', `echo up >> /out/${name}; exec sleep 1000000`],
          volumeMounts: [{ name: 'out', mountPath: '/out' }],
        },
      ],
      volumes: [{ name: 'out', hostPath: { path: outDir, type: 'Directory' } }],
    },
  });
}
