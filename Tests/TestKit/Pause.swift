/// Sleeps for a moment between two checks of a condition, so that the processor is free for other work.
package func pause() async { try? await Task.sleep(for: .milliseconds(1)) }
