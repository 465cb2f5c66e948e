export const doctorCommand = { usage: '', about: '', run: async () => 0 };
