import DocStore
package import DunlinControl

extension Dunlin {
  /// Opens the control socket, so that other processes of the same user can send requests to this peer.
  ///
  /// The `dunlin` command then works on the database while it is open here. It uses the socket `control.sock`
  /// in the database's directory, which only this user can access. On a file system without sockets, the
  /// socket is in the user's runtime directory, under a hash of the path. Clients may read and write
  /// everything, like any process that can read the files. The socket stays open until
  /// ``closeControlSocket()`` or until the database closes.
  ///
  /// - Returns: The socket's path.
  /// - Throws: `permission` when the directory cannot be written to, or a symbolic link is in the socket's
  ///   place; `exists` when another file is in its place; `unreachable` when the path is too long;
  ///   `readOnlyStore` for a database that is only read; `tooManyFiles`, `io`, `closed`.
  @discardableResult
  public func openControlSocket() throws -> String {
    guard !core.store.isReadOnly else { throw DunlinError.readOnlyStore("a control socket is a new file") }
    do { return try core.control.open(core) } catch { throw DunlinError(error) }
  }

  /// Closes the control socket, and cancels the requests that run.
  public func closeControlSocket() { core.control.stop() }

  /// This database, for the control socket of a server that has several.
  ///
  /// - Parameter id: The id by which requests choose it.
  /// - Returns: The database, which has to be closed as ever.
  package func controlled(as id: String) -> ControlledApplication {
    ControlledApplication(id: id, database: core, control: core.control)
  }
}
