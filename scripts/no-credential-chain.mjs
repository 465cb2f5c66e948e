// Stands in for the SDK's default chain of credentials, which roles never ask, because they always get keys of this server. The chain would
// run programs of profiles in a shell.
export const fromNodeProviderChain = () => undefined;
