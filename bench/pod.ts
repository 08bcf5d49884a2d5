/** The measured pod: one busybox container that records when its first instruction ran. */

/** Returns the file to which a container of the pod appends first. */
export const startedFile = (outDir: string, podName: string): string => `${outDir}/${podName}`;

/** Returns the manifest of a pod on the host's network, so that network plugins are not measured. */
export function podManifest(name: string, outDir: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      hostNetwork: true,
      // Process 1 ignores SIGTERM: without a grace period clean-up is quick.
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
