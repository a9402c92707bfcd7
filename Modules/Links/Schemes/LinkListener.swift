/// Accepts links of any kind at one address.
package protocol LinkListener: AnyObject, Sendable {
  /// The requested host.
  var host: String { get }
  /// The port in use.
  var port: Int { get }
  /// The listener's address, in readable form.
  var address: String { get }

  /// Calls `body` with each accepted link until the listener is closed or the task is cancelled.
  ///
  /// - Parameter body: Takes a link that has no user yet.
  func accept(_ body: (any Link) -> Void) async

  /// Stops listening; blocks the calling thread until the port is free.
  func closeBlocking()
}
