extension Dunlin {
  /// Lets other processes of the same user ask this peer: the `dunlin` command then works on the database while it is open here.
  ///
  /// They reach it through the socket `control.sock` in the database's directory, which only this user can use. On a file system without
  /// sockets it stands in the user's own directory for what runs, under a hash of the path. They may read and write everything,
  /// as whoever can read the files may. It ends with ``closeControlSocket()`` or when the database closes.
  /// - Returns: The socket's path.
  /// - Throws: `permission` when the directory cannot be written to, or a symbolic link is in the socket's place; `exists` when something
  ///   else is; `unreachable` when the path is too long; `tooManyFiles`, `io`, `closed`.
  @discardableResult
  public func openControlSocket() throws -> String { try core.control.open(core) }

  /// Lets no other process ask this peer any more; requests that run are cancelled.
  public func closeControlSocket() { core.control.stop() }
}
