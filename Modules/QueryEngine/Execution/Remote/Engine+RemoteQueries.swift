extension Engine: RemoteQueryRunner {
  public var remoteQueryTime: UInt64 { environment.now() }

  public func makeRemoteQueryRun(timeout: Duration, memoryBytes: Int) -> any RemoteQueryRun {
    EngineRun(self, StatementContext(environment, timeout: timeout, memoryBytes: memoryBytes))
  }
}
