/// The former names of counts, for code that was written with them.
extension SyncStatistics {
  @available(*, deprecated, renamed: "transactionsSent")
  public var groupsSent: UInt64 {
    get { transactionsSent }
    set { transactionsSent = newValue }
  }

  @available(*, deprecated, renamed: "transactionsReceived")
  public var groupsReceived: UInt64 {
    get { transactionsReceived }
    set { transactionsReceived = newValue }
  }

  @available(*, deprecated, renamed: "transactionsMissingBase")
  public var groupsMissingBase: UInt64 {
    get { transactionsMissingBase }
    set { transactionsMissingBase = newValue }
  }

  @available(*, deprecated, renamed: "transactionsKnown")
  public var groupsKnown: UInt64 {
    get { transactionsKnown }
    set { transactionsKnown = newValue }
  }

  @available(*, deprecated, renamed: "transactionsAnnounced")
  public var groupsAnnounced: UInt64 {
    get { transactionsAnnounced }
    set { transactionsAnnounced = newValue }
  }

  @available(*, deprecated, renamed: "transactionsHeard")
  public var groupsHeard: UInt64 {
    get { transactionsHeard }
    set { transactionsHeard = newValue }
  }

  @available(*, deprecated, renamed: "transactionsPulled")
  public var groupsPulled: UInt64 {
    get { transactionsPulled }
    set { transactionsPulled = newValue }
  }
}
