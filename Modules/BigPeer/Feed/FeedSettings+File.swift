#if Server
  import CRDTCore

  extension FeedSettings {
    /// Reads the member `feed` of an application in a configuration file.
    ///
    /// - Throws: The first mistake, with file and line.
    init(_ object: ConfigurationObject) throws(ConfigurationError) {
      var object = object
      self.init()
      let times = Duration.milliseconds(100)...Duration.seconds(3_600)
      // Streams and webhooks are readers of one database, which can have at most 4,096.
      streams = try object.integer("streams", in: 1...3_000) ?? streams
      heartbeat = try object.duration("heartbeat", in: .seconds(1) ... .seconds(600)) ?? heartbeat
      webhooks = try object.integer("webhooks", in: 0...1_000) ?? webhooks
      allowsPrivateAddresses = try object.flag("allowPrivateAddresses") ?? allowsPrivateAddresses
      webhookAuthorities = try object.existingFile("webhookAuthorities")
      deliveryTime = try object.duration("deliveryTime", in: times) ?? deliveryTime
      retryTime = try object.duration("retryTime", in: times) ?? retryTime
      longestRetryTime = try object.duration("longestRetryTime", in: times) ?? longestRetryTime
      pauseTime = try object.duration("pauseTime", in: .seconds(1) ... .seconds(30 * 86_400)) ?? pauseTime
      try object.finish()
    }
  }
#endif
