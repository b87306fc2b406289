"""What makes a finding of each rule about one zenoh session, a file a theme."""
